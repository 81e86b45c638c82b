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
# The platform's time of change is no change, and misses come from other payloads.
_INCOMPARABLE = {"revised_at", "misses"}

Row = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierProduct:
    """The catalog's previous record of a product: the fetch that it shows, and the newest fetch with the product."""

    id: int
    external_id: str
    content_hash: bytes
    catalog_version: str
    availability: str
    consecutive_misses: int
    sequence: int
    seen_sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadPosition:
    """A payload's position in its store's history: the number of its fetch.

    `newer` counts the applied payloads of later fetches. `fetched_at` is only recorded, since clocks can be wrong.
    `is_replay` is true if the payload was applied before; different values are then corrections. `is_newest` is true if
    no newer payload was applied.
    """

    payload_id: int
    store_id: int
    fetched_at: datetime
    sequence: int
    newer: int
    threshold: int
    version: str
    is_replay: bool
    is_newest: bool

    def misses(self, known_product: EarlierProduct | None) -> int:
        """Return how many newer payloads lack a product of this one."""
        seen_since = known_product is not None and known_product.seen_sequence > self.sequence
        return (
            known_product.consecutive_misses
            if known_product is not None and seen_since
            else min(self.newer, self.threshold)
        )

    def keeps_stock_unknown(self, known_product: EarlierProduct | None) -> bool:
        """Return whether a product's stock was forgotten after this payload, and no newer menu has shown it."""
        return (
            self.is_replay
            and not self.is_newest
            and known_product is not None
            and known_product.availability == Availability.UNKNOWN
        )

    def is_older_than(self, known_product: EarlierProduct) -> bool:
        """Return whether the catalog already shows the product of a newer payload."""
        return self.sequence < known_product.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The products of a menu, grouped by the kind of write. A replay also writes the `rechecked` ones."""

    new: tuple[Product, ...]
    updated: tuple[Product, ...]
    returned: tuple[Product, ...]
    rechecked: tuple[Product, ...]
    unchanged: tuple[EarlierProduct, ...]
    stale: tuple[EarlierProduct, ...]

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
        stale=tuple(known_products[product.external_id] for product in groups["stale"]),
    )


def _group(
    product: Product, known_product: EarlierProduct | None, content_hash: bytes, position: PayloadPosition
) -> str:
    if known_product is None:
        return "new"
    if position.is_older_than(known_product):
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


def hash_rows(product: Row, *others: Row) -> bytes:
    """Return a digest of a product's row and the rows that come with it."""
    comparable = {name: value for name, value in product.items() if name not in _INCOMPARABLE}
    return hashlib.blake2b(msgspec.json.encode((comparable, others)), digest_size=HASH_BYTES).digest()


def brand_rows(products: Iterable[Product]) -> Iterable[Row]:
    """Return each brand that products name once."""
    named = {product.brand: product for product in products if product.brand}
    for brand, product in named.items():
        yield {"name": brand, "external_id": product.brand_external_id, "logo_url": product.brand_logo_url}


def product_row(product: Product, misses: int, threshold: int) -> Row:
    """Return a product's row. It is removed from the start if enough newer payloads lack it."""
    removed = misses >= threshold
    return {
        **_common(product),
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
        "availability": Availability.REMOVED_FROM_MENU if removed else product.availability,
        "in_stock": product.in_stock and not removed,
        "listed_at": product.created_at,
        "revised_at": product.updated_at,
        "rec_only": product.rec_only,
        "medical_only": product.medical_only,
        "misses": misses,
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


def product_snapshot_row(product: Product, product_id: int) -> Row:
    """Return a product's snapshot."""
    return {**_common(product), "product_id": product_id}


def variant_rows(product: Product, product_id: int, *, removed: bool) -> Iterable[Row]:
    """Return the rows of a product's options."""
    for position, variant in enumerate(product.variants):
        yield {
            **variant_snapshot_row(variant, product_id),
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


def variant_snapshot_row(variant: Variant, product_id: int) -> Row:
    """Return an option's snapshot."""
    return {
        "product_id": product_id,
        "option": variant.option,
        "price_rec_cents": variant.price_rec_cents,
        "price_med_cents": variant.price_med_cents,
        "special_rec_cents": variant.special_rec_cents,
        "special_med_cents": variant.special_med_cents,
        "quantity": variant.quantity,
        "quantity_capped": variant.quantity_capped,
        "in_stock": variant.in_stock,
    }


def _common(product: Product) -> Row:
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


def _potency(name: str, potency: Potency | None) -> dict[str, Decimal | str | None]:
    return {
        f"{name}_lo": potency.lo if potency else None,
        f"{name}_hi": potency.hi if potency else None,
        f"{name}_unit": potency.unit if potency else None,
    }
