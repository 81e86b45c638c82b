"""Convert a menu's products to rows, and decide which of them a payload may write."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal

import msgspec

from storecrawl.catalog.normalize import Availability, Menu, Potency, Product, Variant

HASH_BYTES = 16

Row = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierProduct:
    """The catalog's previous record of a product.

    `absent_from` is the first applied fetch since the product was last seen, None if the last one has it. It is
    `in_history` if the last applied payload has it in usable form, and `is_newer` if one after this payload does.
    """

    id: int
    external_id: str
    content_hash: bytes
    catalog_version: str
    availability: str
    consecutive_misses: int
    absent_from: int | None
    first_seen_at: datetime
    revised_at: datetime | None
    in_history: bool
    is_newer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadPosition:
    """A payload's position in its store's history: the number of its fetch.

    `next` is the number of the next applied fetch, None for the newest. `newer` counts the complete payloads of later
    fetches. `fetched_at` is only recorded, since clocks can be wrong. `is_replay` is true if the payload was applied
    before; different values are then corrections.
    """

    payload_id: int
    store_id: int
    fetched_at: datetime
    sequence: int
    next: int | None
    newer: int
    threshold: int
    version: str
    is_replay: bool

    def misses(self, known_product: EarlierProduct | None) -> int:
        """Return how many newer payloads lack a product of this one."""
        if known_product is not None and self._was_seen_later(known_product):
            return known_product.consecutive_misses
        return min(self.newer, self.threshold)

    def absent_from(self, known_product: EarlierProduct | None) -> int | None:
        """Return the first applied fetch since a product of this payload was last seen, None if the last one has it."""
        if known_product is not None and self._was_seen_later(known_product):
            return known_product.absent_from
        return self.next

    def keeps_stock_unknown(self, known_product: EarlierProduct | None) -> bool:
        """Return whether a product's stock was forgotten after this payload, and no newer menu has shown it."""
        return (
            self.is_replay
            and self.next is not None
            and known_product is not None
            and known_product.availability == Availability.UNKNOWN
        )

    def _was_seen_later(self, known_product: EarlierProduct) -> bool:
        absent_from = known_product.absent_from
        return self.next is not None and (absent_from is None or absent_from > self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The products of a menu, grouped by the kind of write. A replay also writes the `rechecked` ones."""

    new: tuple[Product, ...]
    updated: tuple[Product, ...]
    returned: tuple[Product, ...]
    rechecked: tuple[Product, ...]
    unchanged: tuple[EarlierProduct, ...]
    stale: tuple[Product, ...]

    @property
    def products_to_write(self) -> tuple[Product, ...]:
        return self.new + self.updated + self.returned + self.rechecked


def plan_refresh(
    menu: Menu, known_products: Mapping[str, EarlierProduct], hashes: Mapping[str, bytes], position: PayloadPosition
) -> Plan:
    """Group a menu's products by comparing their hashes with those of their known records."""
    groups: dict[str, list[Product]] = {each.name: [] for each in fields(Plan)}
    for product in menu.products:
        known_product = known_products.get(product.external_id)
        groups[_group(product, known_product, hashes[product.external_id], position)].append(product)
    return Plan(
        new=tuple(groups["new"]),
        updated=tuple(groups["updated"]),
        returned=tuple(groups["returned"]),
        rechecked=tuple(groups["rechecked"]),
        unchanged=tuple(known_products[product.external_id] for product in groups["unchanged"]),
        stale=tuple(groups["stale"]),
    )


def _group(
    product: Product, known_product: EarlierProduct | None, content_hash: bytes, position: PayloadPosition
) -> str:
    if known_product is None:
        return "new"
    if known_product.is_newer:
        return "stale"
    removed = position.misses(known_product) >= position.threshold
    if (known_product.availability == Availability.REMOVED_FROM_MENU) != removed:
        return "returned"
    if (known_product.content_hash, known_product.catalog_version) != (content_hash, position.version):
        return "updated"
    is_forgotten = known_product.availability == Availability.UNKNOWN != product.availability
    if is_forgotten and not position.keeps_stock_unknown(known_product):
        return "returned"
    return "rechecked" if position.is_replay else "unchanged"


def content_hash(product: Product) -> bytes:
    """Return a digest of all rows of a product, without the platform's time of change.

    It changes with the code that makes rows.
    """
    values = {name: value for name, value in _product_values(product).items() if name != "revised_at"}
    options = list(variant_rows(product, 0, removed=False))
    rows = (values, options, details_row(product, 0), list(brand_rows([product])))
    return hashlib.blake2b(msgspec.json.encode(rows), digest_size=HASH_BYTES).digest()


def brand_rows(products: Iterable[Product]) -> Iterable[Row]:
    """Return each brand that products name once."""
    named = {product.brand: product for product in products if product.brand}
    for brand, product in named.items():
        yield {"name": brand, "external_id": product.brand_external_id, "logo_url": product.brand_logo_url}


def touched_row(product: Product, known_product: EarlierProduct, position: PayloadPosition) -> Row | None:
    """Return the columns of an unchanged product that its sighting changes, or None if it changes none."""
    earlier = position.fetched_at < known_product.first_seen_at
    row: Row = {
        "absent_from": position.absent_from(known_product),
        "consecutive_misses": position.misses(known_product),
        "revised_at": product.updated_at,
    }
    same = all(getattr(known_product, name) == value for name, value in row.items())
    return None if same and not earlier else {"id": known_product.id, **row}


def product_row(product: Product, known_product: EarlierProduct | None, position: PayloadPosition) -> Row:
    """Return a product's row. It is removed from the start if enough newer payloads lack it."""
    misses = position.misses(known_product)
    removed = misses >= position.threshold
    return {
        **_product_values(product),
        "availability": Availability.REMOVED_FROM_MENU if removed else product.availability,
        "in_stock": product.in_stock and not removed,
        "misses": misses,
        "absent_from": position.absent_from(known_product),
    }


def _product_values(product: Product) -> Row:
    return {
        **product_facts(product),
        "external_id": product.external_id,
        "slug": product.slug,
        "name_raw": product.name_raw,
        "brand_raw": product.brand_raw,
        "brand_external_id": product.brand_external_id,
        "category_raw": product.category_raw,
        "subcategory_raw": product.subcategory_raw,
        "strain_type_raw": product.strain_type_raw,
        "description": product.description,
        "image_url": product.image_url,
        "listed_at": product.created_at,
        "revised_at": product.updated_at,
        "rec_only": product.rec_only,
        "medical_only": product.medical_only,
    }


def with_unknown_stock(row: Row) -> Row:
    """Return the row of a product or option without its stock."""
    unknown = {"availability": Availability.UNKNOWN, "in_stock": False, "quantity": None, "quantity_capped": False}
    return {name: unknown.get(name, value) for name, value in row.items()}


def details_row(product: Product, product_id: int) -> Row:
    """Return the row of a product's details."""
    return {
        "product_id": product_id,
        **{each.name: getattr(product.details, each.name) for each in fields(product.details)},
    }


def variant_rows(product: Product, product_id: int, *, removed: bool) -> Iterable[Row]:
    """Return the rows of a product's options."""
    for position, variant in enumerate(product.variants):
        yield {
            **variant_prices(variant, product_id),
            **variant_stock(variant, product_id),
            "option_raw": variant.option_raw,
            "position": position,
            "weight_value": variant.weight.value if variant.weight else None,
            "weight_unit": variant.weight.unit if variant.weight else None,
            "dose_mg": variant.dose_mg,
            "pack_count": variant.pack_count,
            "in_stock": variant.in_stock and not removed,
            "sku": variant.sku,
            "canonical_id": variant.canonical_id,
            "canonical_name": variant.canonical_name,
        }


def product_facts(product: Product) -> Row:
    """Return a product's facts, which its history keeps."""
    return {
        "name": product.name,
        "brand": product.brand,
        "category": product.category,
        "subcategory": product.subcategory,
        "strain_type": product.strain_type,
        **_potency("thc", product.thc),
        **_potency("cbd", product.cbd),
        "availability": product.availability,
        "in_stock": product.in_stock,
    }


def variant_prices(variant: Variant, product_id: int) -> Row:
    """Return an option's prices."""
    return {
        "product_id": product_id,
        "option": variant.option,
        "price_rec_cents": variant.price_rec_cents,
        "price_med_cents": variant.price_med_cents,
        "special_rec_cents": variant.special_rec_cents,
        "special_med_cents": variant.special_med_cents,
    }


def variant_stock(variant: Variant, product_id: int) -> Row:
    """Return an option's stock."""
    return {
        "product_id": product_id,
        "option": variant.option,
        "quantity": variant.quantity,
        "quantity_capped": variant.quantity_capped,
        "in_stock": variant.in_stock,
    }


def _potency(name: str, potency: Potency | None) -> dict[str, Decimal | str | None]:
    return {
        f"{name}_lo": potency.lo if potency else None,
        f"{name}_hi": potency.hi if potency else None,
        f"{name}_unit": potency.unit if potency else None,
    }
