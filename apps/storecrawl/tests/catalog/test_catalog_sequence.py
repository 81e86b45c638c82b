"""The order of a store's fetches: their numbers decide, not their times, since a clock can be wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import RefreshReport, begin_fetch, count_future_fetches, find_payload, repeat_menu, stores_due
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]
TOMORROW = datetime.now(UTC) + timedelta(days=1)


async def test_numbers_of_fetches_begin_at_one_and_increase(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    store = await new_store()

    assert [(await begin_fetch(connection, store)).sequence for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("hours", [(24, 4), (4, 24)], ids=["the clock was ahead", "the clock was right"])
async def test_later_fetch_sets_the_prices_whatever_its_time_is(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query,
    hours: tuple[int, int],
) -> None:  # fmt: skip
    store = await new_store()
    for number, (hour, price) in enumerate(zip(hours, (20, 7), strict=True)):
        payload = await new_payload(store, hour, sequence=number)
        await refresh(store, hour, make_menu({"a": {"recPrices": [price]}}), payload)

    assert await query("select price_rec_cents from storecrawl.variants") == [{"price_rec_cents": 700}]


async def test_fetch_that_began_earlier_and_ends_later_loses(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 4, make_menu({"a": {"recPrices": [7]}}), await new_payload(store, 4, sequence=2))

    report = await refresh(store, 5, make_menu({"a": {"recPrices": [20]}}), await new_payload(store, 5, sequence=1))

    assert report.stale == 1
    assert await query("select price_rec_cents from storecrawl.variants") == [{"price_rec_cents": 700}]


async def test_products_are_missed_after_a_fetch_with_a_clock_ahead(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 24, make_menu(["a", "b"]), await new_payload(store, 24, sequence=1))
    for number in (2, 3, 4):
        await refresh(store, number, make_menu(["a"]), await new_payload(store, number, sequence=number))

    rows = await query("select availability::text from storecrawl.products where external_id = 'b'")
    assert rows == [{"availability": "removed_from_menu"}]


async def test_payload_repeats_one_with_a_clock_ahead(
    connection: psycopg.AsyncConnection, new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu,
    refresh: Refresh,
) -> None:  # fmt: skip
    store = await new_store()
    await refresh(store, 24, make_menu(["a"]), await new_payload(store, 24, sequence=1))
    payload = await find_payload(connection, await new_payload(store, 4, sequence=2))

    async with connection.transaction():
        report = await repeat_menu(connection, payload)

    assert report is not None
    assert report.unchanged == 1


async def test_store_with_a_fetch_in_the_future_is_due(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    store = await new_store(last_fetch_at=TOMORROW)

    assert [(due.id, due.last_fetch_at) for due in await stores_due(connection, timedelta(hours=4))] == [(store, None)]


async def test_fetches_in_the_future_are_counted(
    connection: psycopg.AsyncConnection, new_store: NewStore, new_payload: NewPayload, query: Query
) -> None:
    store = await new_store()
    past, future = await new_payload(store, 1), await new_payload(store, 2)
    await query("update storecrawl.payloads set fetched_at = %s where id = %s returning id", TOMORROW, future)

    found = await count_future_fetches(connection)

    assert past != future
    assert (found.payloads, found.stores, found.store_id, found.fetched_at) == (1, 1, store, TOMORROW)
