"""Dark stores: without a menu for some rounds, their stock is unknown and counts nowhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import (
    RefreshReport,
    count_dark_stores,
    count_lost_ids,
    count_same_id,
    count_stores,
    darken_stores,
    find_payload,
    overdue_stores,
    refresh_views,
    repeat_menu,
    store_figures,
)
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]
Stock = Callable[[int], Awaitable[list[tuple[object, ...]]]]

DAY = timedelta(days=1)
LONG_AGO = datetime.now(UTC) - timedelta(days=9)
MENU = {"a": {"brandName": "Sun", "manualInventory": [{"option": "1g", "inventory": 9}]}}
KNOWN = [("in_stock", True, True, 9)]
UNKNOWN = [("unknown", False, False, None)]


@pytest.fixture
def stock(query: Query) -> Stock:

    async def read(store_id: int) -> list[tuple[object, ...]]:
        rows = await query(
            "select availability::text, product.in_stock as sold, variant.in_stock, quantity from storecrawl.variants"
            " as variant join storecrawl.products as product on product.id = product_id where store_id = %s",
            store_id,
        )
        return [tuple(row.values()) for row in rows]

    return read


@pytest.fixture
async def dark(connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh) -> int:
    """A store whose only menu is from long ago, and which became dark since."""
    store = await new_store()
    await refresh(store, 0, make_menu(MENU))
    assert await darken_stores(connection, DAY) == [store]
    return store


async def test_stock_of_a_dark_store_is_unknown(dark: int, stock: Stock) -> None:
    assert await stock(dark) == UNKNOWN


async def test_next_menu_restores_the_stock_though_nothing_has_changed(
    connection: psycopg.AsyncConnection, dark: int, make_menu: MakeMenu, refresh: Refresh, query: Query, stock: Stock
) -> None:
    report = await refresh(dark, 1, make_menu(MENU))

    assert await stock(dark) == KNOWN
    assert (report.returned, (await count_dark_stores(connection)).found) == (1, 0)
    changes = "select price_changes, p.changed_at = p.first_seen_at as same from storecrawl.variants, storecrawl.products as p"
    assert await query(changes) == [{"price_changes": 0, "same": True}]


async def test_product_that_the_next_menu_lacks_stays_unknown(
    dark: int, make_menu: MakeMenu, refresh: Refresh, stock: Stock
) -> None:
    await refresh(dark, 1, make_menu(["b"]))

    assert UNKNOWN[0] in await stock(dark)


async def test_replay_of_the_last_menu_does_not_end_the_darkness(
    connection: psycopg.AsyncConnection, dark: int, make_menu: MakeMenu, refresh: Refresh, query: Query, stock: Stock
) -> None:
    [payload] = await query("select id from storecrawl.payloads")

    await refresh(dark, 0, make_menu(MENU), payload["id"])

    assert await stock(dark) == UNKNOWN
    assert (await count_dark_stores(connection)).found == 1


async def test_identical_menu_of_a_dark_store_is_read(
    connection: psycopg.AsyncConnection, dark: int, new_payload: NewPayload
) -> None:
    payload = await find_payload(connection, await new_payload(dark, 1))

    async with connection.transaction():
        assert await repeat_menu(connection, payload) is None


async def test_menu_that_was_fetched_but_not_applied_is_no_menu(
    connection: psycopg.AsyncConnection, new_store: NewStore, new_payload: NewPayload, query: Query
) -> None:
    store = await new_store()
    await new_payload(store, 0)
    await query("update storecrawl.stores set first_seen_at = %s returning id", LONG_AGO)

    assert await overdue_stores(connection, DAY) == [store]


async def test_store_that_was_never_crawled_is_dark_only_if_it_should_be_crawled(
    connection: psycopg.AsyncConnection, new_store: NewStore, query: Query
) -> None:
    crawled, _ = await new_store(), await new_store(crawl_enabled=False)
    await query("update storecrawl.stores set first_seen_at = %s returning id", LONG_AGO)

    assert await overdue_stores(connection, DAY) == [crawled]


async def test_disabled_store_becomes_dark(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, stock: Stock
) -> None:
    store = await new_store(crawl_enabled=False)
    await refresh(store, 0, make_menu(MENU))

    await darken_stores(connection, DAY)

    assert await stock(store) == UNKNOWN


async def test_store_with_a_recent_menu_stays_light(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    await refresh(await new_store(), 0, make_menu(MENU))

    assert await darken_stores(connection, timedelta(days=36500)) == []


async def test_views_leave_out_the_products_of_dark_stores(
    connection: psycopg.AsyncConnection, dark: int, query: Query
) -> None:
    await refresh_views(connection)

    assert await query("select * from storecrawl.brand_counts_by_state") == []
    assert await query("select * from storecrawl.category_price_statistics") == []
    counts = "select products, products_in_stock, brands from storecrawl.store_product_counts where store_id = %s"
    assert await query(counts, dark) == [{"products": 0, "products_in_stock": 0, "brands": 0}]


async def test_statistics_and_figures_leave_out_the_products_of_dark_stores(
    connection: psycopg.AsyncConnection, dark: int, query: Query
) -> None:
    await count_stores(connection, [dark])

    figures = (await store_figures(connection, [dark]))[dark]
    assert (figures.products, figures.in_stock, figures.lowest_cents, figures.payloads) == (0, 0, None, 1)
    assert await query("select * from storecrawl.store_partials") == []


async def test_statistics_of_a_store_that_becomes_dark_are_counted_again(
    connection: psycopg.AsyncConnection, new_store: NewStore, query: Query
) -> None:
    store = await new_store()
    await query("delete from storecrawl.product_changes returning stores")

    await query("update storecrawl.stores set dark_since = now() where id = %s returning id", store)

    assert await query("select %s::bigint <@ stores as logged from storecrawl.product_changes", store) == [
        {"logged": True}
    ]


async def test_store_needs_investigation_after_three_searches_with_the_same_id(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    store, _ = await new_store(), await new_store()
    found = [await count_same_id(connection, store) and (await count_lost_ids(connection)).found for _ in range(3)]

    assert found == [0, 0, 1]


async def test_menu_ends_the_count_of_searches_with_the_same_id(
    connection: psycopg.AsyncConnection, new_store: NewStore, new_payload: NewPayload
) -> None:
    store = await new_store()
    await count_same_id(connection, store)
    await new_payload(store, 0)

    assert await count_same_id(connection, store) == 1
