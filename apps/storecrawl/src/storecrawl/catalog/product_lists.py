"""Products as people look for them: page by page, by name, and those that a comparison names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row, tuple_row

from storecrawl.catalog.sql import PRODUCTS
from storecrawl.statements import Connection, containing, fetch

# A page of a list over all stores reads at most so many products: rather it comes short than late.
MOST_READ = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductFilter:
    """Which products; None does not filter. `text` is looked for in name and brand, and in the names of the stores.

    `after` is the `reached` of the page before.
    """

    store_id: int | None = None
    text: str | None = None
    availability: str | None = None
    after: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProduct:
    """A product in a line. Prices are cents, specials counted, over the options that it has now."""

    id: int
    store_id: int
    store_name: str
    external_id: str
    name: str
    brand: str | None
    category: str | None
    availability: str
    last_seen_at: datetime
    lowest_cents: int | None
    highest_cents: int | None
    on_special: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProduct:
    """What the catalog has of a product that a payload names by the platform's key."""

    external_id: str
    id: int
    brand: str | None
    category: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductPage:
    """Some products by name; `reached` is what the next page comes after, None where the list ends.

    A page may be short, even empty, and yet have a next one.
    """

    items: list[ListedProduct]
    reached: int | None


async def list_products(connection: Connection, which: ProductFilter) -> ProductPage:
    """A page of products by name."""
    query = PRODUCTS.find_products if which.store_id is None else PRODUCTS.find_products_of_store
    parameters = {
        "store_id": which.store_id,
        "pattern": containing(which.text),
        "availability": which.availability,
        "after": which.after,
        "limit": which.limit,
        "most": MOST_READ,
    }
    [(ids, reached)] = await fetch(connection, query, parameters, tuple_row)
    items = await fetch(connection, PRODUCTS.products_by_id, {"ids": ids}, class_row(ListedProduct))
    return ProductPage(items=items, reached=reached)


async def known_products(connection: Connection, store_id: int, external_ids: Iterable[str]) -> dict[str, KnownProduct]:
    """Those of a store's products that the catalog knows, by the platform's key."""
    parameters = {"store_id": store_id, "external_ids": list(external_ids)}
    rows = await fetch(connection, PRODUCTS.known_products, parameters, class_row(KnownProduct))
    return {row.external_id: row for row in rows}
