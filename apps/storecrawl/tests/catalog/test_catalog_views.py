"""Values of the materialized views and concurrent readers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import RefreshReport, refresh_views
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

VIEWS = ["brand_counts_by_state", "category_price_statistics", "store_product_counts"]

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]


async def test_view_figures_match_the_products(
    connection: psycopg.AsyncConnection,
    new_store: NewStore,
    make_menu: MakeMenu,
    refresh: Refresh,
    query: Query,
) -> None:
    flower = {"type": "Flower", "brandName": "Grön"}
    menu = {
        "a": {**flower, "recPrices": [10]},
        "b": {**flower, "recPrices": [40], "special": True, "recSpecialPrices": [30]},
        "c": {"type": "Edible", "brandName": "Wana", "recPrices": [20], "Status": "Inactive"},
    }
    await refresh(await new_store("PA"), 0, make_menu(menu))

    assert await refresh_views(connection) == VIEWS

    brands = await query("select * from storecrawl.brand_counts_by_state order by brand")
    assert [tuple(row.values()) for row in brands] == [("PA", "Grön", 1, 2, 2), ("PA", "Wana", 1, 1, 0)]
    prices = await query("select * from storecrawl.category_price_statistics order by category")
    assert [tuple(row.values()) for row in prices] == [
        ("PA", "edibles", 1, 0, 2000, 2000, 2000, 2000),
        ("PA", "flower", 2, 1, 1000, 1000, 2000, 3000),
    ]
    [counts] = await query("select products, products_in_stock, brands from storecrawl.store_product_counts")
    assert tuple(counts.values()) == (3, 2, 2)


async def test_price_history_contains_the_last_price_of_each_day_and_month_without_a_refresh(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, price in ((1, 10), (20, 11), (30, 12)):
        await refresh(store, hour, make_menu({"a": {"recPrices": [price]}}))

    rows = await query("select day, price_rec_cents from storecrawl.price_history_by_day order by day")
    assert [tuple(row.values()) for row in rows] == [(date(2026, 5, 1), 1100), (date(2026, 5, 2), 1200)]
    rows = await query("select month, price_rec_cents from storecrawl.price_history_by_month")
    assert [tuple(row.values()) for row in rows] == [(date(2026, 5, 1), 1200)]


async def test_reader_does_not_wait_for_a_refresh(database: str, connection: psycopg.AsyncConnection) -> None:
    async with connection.transaction():
        await refresh_views(connection)
        async with await psycopg.AsyncConnection.connect(database, options="-c lock_timeout=500") as reader:
            for view in VIEWS:
                await reader.execute(psycopg.sql.SQL("table {}").format(psycopg.sql.Identifier("storecrawl", view)))


async def test_never_populated_view_is_populated(connection: psycopg.AsyncConnection, query: Query) -> None:
    await connection.execute("refresh materialized view storecrawl.store_product_counts with no data")

    await refresh_views(connection)

    assert await query("select * from storecrawl.store_product_counts") == []
