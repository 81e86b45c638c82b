"""Products: lists, and the current record of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import msgspec
from psycopg.rows import class_row, dict_row, tuple_row

from storecrawl.catalog.errors import UnknownProduct
from storecrawl.catalog.normalize import NO_DETAILS, Details
from storecrawl.catalog.sql import DETAILS, PRODUCTS, VARIANTS
from storecrawl.statements import Connection, containing_pattern, fetch

# The most products that a page of a list over all stores reads. A short page is better than a slow one.
MOST_READ = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductFilter:
    """Filters of products; None matches everything. `text` matches product, brand and store names.

    `after` is the `reached` of the previous page.
    """

    store_id: int | None = None
    text: str | None = None
    availability: str | None = None
    after: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProduct:
    """A product. Prices are in cents, the lowest and highest of its current options, including specials."""

    id: int
    store_id: int
    store_name: str
    state: str | None
    external_id: str
    name: str
    brand_id: int | None
    brand: str | None
    category: str | None
    subcategory: str | None
    strain_type: str | None
    thc_lo: Decimal | None
    thc_hi: Decimal | None
    thc_unit: str | None
    availability: str
    in_stock: bool
    on_special: bool
    lowest_cents: int | None
    highest_cents: int | None
    changed_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProducts:
    """A page of products. The next one starts after `reached`, which is None at the end.

    A page may be short or even empty although there is a next one.
    """

    items: list[FoundProduct]
    reached: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProduct:
    """The catalog's record of a product that a payload identifies by the platform's key."""

    external_id: str
    id: int
    brand: str | None
    category: str | None


async def list_products(connection: Connection, criteria: ProductFilter) -> FoundProducts:
    """Return a page of products by name."""
    query = PRODUCTS.find_products if criteria.store_id is None else PRODUCTS.find_products_of_store
    parameters = {
        "store_id": criteria.store_id,
        "pattern": containing_pattern(criteria.text),
        "availability": criteria.availability,
        "after": criteria.after,
        "limit": criteria.limit,
        "most": MOST_READ,
    }
    [(ids, reached)] = await fetch(connection, query, parameters, tuple_row)
    return FoundProducts(items=await products_by_id(connection, ids), reached=reached)


async def products_by_id(connection: Connection, ids: Sequence[int]) -> list[FoundProduct]:
    """Return products in the order of these ids."""
    return await fetch(connection, PRODUCTS.products_by_id, {"ids": list(ids)}, class_row(FoundProduct))


async def known_products(connection: Connection, store_id: int, external_ids: Iterable[str]) -> dict[str, KnownProduct]:
    """Return the known products among a store's given ones, by the platform's key."""
    parameters = {"store_id": store_id, "external_ids": list(external_ids)}
    rows = await fetch(connection, PRODUCTS.known_products, parameters, class_row(KnownProduct))
    return {row.external_id: row for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRecord:
    """The current record of a product, missing from `consecutive_misses` complete payloads in a row.

    `listed_at` and `revised_at` are the platform's times. `rec_only` and `medical_only` are None if it gives neither.
    """

    id: int
    store_id: int
    store_name: str
    external_id: str
    slug: str | None
    name: str
    name_raw: str
    brand_id: int | None
    brand: str | None
    category: str | None
    category_raw: str | None
    subcategory: str | None
    strain_type: str | None
    thc_lo: Decimal | None
    thc_hi: Decimal | None
    thc_unit: str | None
    cbd_lo: Decimal | None
    cbd_hi: Decimal | None
    cbd_unit: str | None
    description: str | None
    image_url: str | None
    availability: str
    in_stock: bool
    listed_at: datetime | None
    rec_only: bool | None
    medical_only: bool | None
    revised_at: datetime | None
    consecutive_misses: int
    first_seen_at: datetime
    last_seen_at: datetime
    changed_at: datetime
    last_payload_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRecord:
    """An option of a product, prices in cents; `listed` is true if the product has it now.

    It has a weight or a dose: the milligrams of active substance in the package.
    """

    option: str
    weight_value: Decimal | None
    weight_unit: str | None
    dose_mg: Decimal | None
    pack_count: int | None
    price_rec_cents: int | None
    price_med_cents: int | None
    special_rec_cents: int | None
    special_med_cents: int | None
    quantity: int | None
    quantity_capped: bool
    in_stock: bool
    listed: bool
    sku: str | None


async def find_product(connection: Connection, product_id: int) -> ProductRecord:
    """Return a product. Raises UnknownProduct."""
    rows = await fetch(connection, PRODUCTS.product_by_id, {"product_id": product_id}, class_row(ProductRecord))
    if not rows:
        raise UnknownProduct(product_id)
    return rows[0]


async def product_details(connection: Connection, product_id: int) -> Details:
    """Return a product's details; empty if it was not written since details are stored."""
    rows = await fetch(connection, DETAILS.details_of_product, {"product_id": product_id}, dict_row)
    return msgspec.convert(rows[0], type=Details, strict=False) if rows else NO_DETAILS


async def product_variants(connection: Connection, product_id: int) -> list[VariantRecord]:
    """Return a product's options, the current ones first."""
    return await fetch(connection, VARIANTS.variants_of_product, {"product_id": product_id}, class_row(VariantRecord))
