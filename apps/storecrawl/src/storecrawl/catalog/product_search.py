"""Search products of all stores by their properties and prices, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from psycopg.rows import class_row, tuple_row

from storecrawl.catalog.products import MOST_READ, FoundProducts, products_by_id
from storecrawl.catalog.sql import PRODUCT_SEARCH
from storecrawl.statements import Connection, containing_pattern, fetch


class ProductOrder(StrEnum):
    """The order of products: by name, or the lowest or highest price first."""

    NAME = "name"
    LOWEST_PRICE = "lowest_price"
    HIGHEST_PRICE = "highest_price"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSearch:
    """Filters of products; None matches everything. `text` matches product and brand names, and `brand` is
    a brand's name in any spelling.

    `lowest_cents` and `highest_cents` limit the lowest price that a customer pays for one of the product's options,
    including specials. `after` is the `reached` of the previous page.
    """

    store_id: int | None = None
    state: str | None = None
    platform: str | None = None
    brand: str | None = None
    category: str | None = None
    text: str | None = None
    in_stock: bool | None = None
    on_special: bool | None = None
    lowest_cents: int | None = None
    highest_cents: int | None = None
    order: ProductOrder = ProductOrder.NAME
    after: int | None = None
    limit: int = 50

    @property
    def is_narrow(self) -> bool:
        """Whether only products of one store or brand match, which can be sorted by price."""
        return self.store_id is not None or self.brand is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTotals:
    """The totals of a category over all menus as of the last round. Prices are in cents, including specials."""

    category: str | None
    stores: int
    products: int
    in_stock: int
    variants: int
    on_special: int
    lowest_cents: int | None
    highest_cents: int | None


SIGNS: Final = {ProductOrder.NAME: None, ProductOrder.LOWEST_PRICE: 1, ProductOrder.HIGHEST_PRICE: -1}


async def search_products(connection: Connection, criteria: ProductSearch) -> FoundProducts:
    """Return a page of products.

    By name, a page reads a limited number of products. By price, it reads all of the store or brand: callers
    require `is_narrow`.
    """
    parameters = {
        "store_id": criteria.store_id,
        "state": criteria.state,
        "platform": criteria.platform,
        "brand": criteria.brand,
        "category": criteria.category,
        "pattern": containing_pattern(criteria.text),
        "in_stock": criteria.in_stock,
        "on_special": criteria.on_special,
        "lowest_cents": criteria.lowest_cents,
        "highest_cents": criteria.highest_cents,
        "sign": SIGNS[criteria.order],
        "after": criteria.after,
        "limit": criteria.limit,
        "most": MOST_READ,
    }
    [(ids, reached)] = await fetch(connection, PRODUCT_SEARCH.search_products, parameters, tuple_row)
    return FoundProducts(items=await products_by_id(connection, ids), reached=reached)


async def category_totals(connection: Connection, *, state: str | None = None) -> list[CategoryTotals]:
    """Return the totals of each category over all stores or those of a state, the most products first."""
    return await fetch(connection, PRODUCT_SEARCH.categories, {"state": state}, class_row(CategoryTotals))
