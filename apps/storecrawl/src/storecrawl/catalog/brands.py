"""Brands, and the statistics derived by rounds: of each brand over all menus, of each store by category."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from psycopg.rows import class_row

from storecrawl.catalog.errors import UnknownBrand
from storecrawl.catalog.sql import BRANDS, STORES
from storecrawl.statements import Connection, containing_pattern, fetch


class BrandOrder(StrEnum):
    """The order of brands: by name, or the most products first."""

    NAME = "name"
    PRODUCTS = "products"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """A brand and its totals over all menus; zeros if no menu has it at the moment.

    Prices are in cents, over all options, including specials. `price_changes` counts the price changes of the
    products that are on menus now; `price_changed_at` is the time of the last one.
    """

    id: int
    name: str
    slug: str
    external_id: str | None
    logo_url: str | None
    first_seen_at: datetime
    stores: int
    products: int
    in_stock: int
    variants: int
    on_special: int
    lowest_cents: int | None
    average_cents: int | None
    highest_cents: int | None
    price_changes: int
    price_changed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOfBrand:
    """A store with products of a brand on its menu."""

    store_id: int
    store_name: str
    state: str | None
    products: int
    in_stock: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryFigures:
    """A store's totals for one category (None for products without one), counted like those of a brand."""

    category: str | None
    brands: int
    products: int
    in_stock: int
    variants: int
    on_special: int
    lowest_cents: int | None
    average_cents: int | None
    highest_cents: int | None
    price_changes: int
    price_changed_at: datetime | None


async def list_brands(
    connection: Connection, *, order: BrandOrder, text: str | None = None, after: int | None = None, limit: int = 50
) -> list[Brand]:
    """Return a page of brands whose name contains `text`; `after` is the last one of the previous page."""
    parameters = {"pattern": containing_pattern(text), "after": after, "limit": limit}
    query = BRANDS.list_by_name if order is BrandOrder.NAME else BRANDS.list_by_products
    return await fetch(connection, query, parameters, class_row(Brand))


async def find_brand(connection: Connection, brand_id: int) -> Brand:
    """Return a brand. Raises UnknownBrand."""
    found = await fetch(connection, BRANDS.brand_by_id, {"brand_id": brand_id}, class_row(Brand))
    if not found:
        raise UnknownBrand(brand_id)
    return found[0]


async def stores_of_brand(connection: Connection, brand_id: int, *, limit: int = 25) -> list[StoreOfBrand]:
    """Return the stores that currently have the most products of a brand."""
    return await fetch(
        connection, BRANDS.stores_of_brand, {"brand_id": brand_id, "limit": limit}, class_row(StoreOfBrand)
    )


async def store_categories(connection: Connection, store_id: int) -> list[CategoryFigures]:
    """Return a store's totals by category, the largest first."""
    return await fetch(connection, STORES.categories_of_store, {"store_id": store_id}, class_row(CategoryFigures))
