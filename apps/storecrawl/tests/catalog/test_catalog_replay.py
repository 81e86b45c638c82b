"""Replays: the same payload again, older payloads later, and two refreshes at once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import RefreshReport, apply_menu
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

START = datetime(2026, 5, 1, tzinfo=UTC)
TABLES = ("stores", "payloads", "products", "variants", "product_history", "price_history", "stock_history")

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]

CURRENT_PRODUCTS = (
    "select external_id, name, availability::text, product.in_stock, consecutive_misses, seen_at,"
    " product.first_seen_at, option, price_rec_cents, variant.in_stock as option_in_stock"
    " from storecrawl.products as product join storecrawl.product_sightings as seen on seen.product_id = product.id"
    " left join storecrawl.variants as variant on variant.product_id = product.id and variant.listed"
    " where store_id = %s order by external_id, option"
)


async def _all_rows(query: Query) -> list[list[dict[str, Any]]]:
    return [await query(f"select * from storecrawl.{table} as t order by t::text") for table in TABLES]


async def test_second_refresh_with_one_payload_changes_nothing(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b", "c"]))
    menu = make_menu({"a": {"recPrices": [5]}, "c": {"Name": None}, "d": {}})
    payload = await new_payload(store, 1)
    await refresh(store, 1, menu, payload)
    before = await _all_rows(query)

    report = await refresh(store, 1, menu, payload)

    assert (report.new, report.updated, report.unchanged) == (0, 0, 2)
    assert (report.missing, report.history_changes) == (0, 0)
    assert await _all_rows(query) == before


async def test_late_second_refresh_changes_nothing_either(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    first = make_menu(["a", "b"])
    payload = await new_payload(store, 0)
    await refresh(store, 0, first, payload)
    for hour in (1, 2, 3, 4):
        await refresh(store, hour, make_menu({"a": {"recPrices": [hour]}}))
    before = await _all_rows(query)

    await refresh(store, 0, first, payload)

    assert await _all_rows(query) == before


async def test_older_payload_does_not_revert_a_product_but_extends_its_history(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 5, make_menu({"a": {"recPrices": [30]}}))

    report = await refresh(store, 1, make_menu({"a": {"recPrices": [20]}}))

    assert (report.stale, report.updated, report.history_changes) == (1, 0, 3)
    [row] = await query(CURRENT_PRODUCTS, store)
    assert (row["price_rec_cents"], row["seen_at"]) == (3000, START + timedelta(hours=5))
    assert row["first_seen_at"] == START + timedelta(hours=1)


async def test_product_only_in_an_older_payload_counts_as_missed_since(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour in (2, 3, 4):
        await refresh(store, hour, make_menu(["a"]))

    await refresh(store, 1, make_menu(["a", "b"]))

    row = (await query(CURRENT_PRODUCTS, store))[1]
    assert (row["external_id"], row["consecutive_misses"]) == ("b", 3)
    assert (row["availability"], row["in_stock"], row["option_in_stock"]) == (
        "removed_from_menu",
        False,
        False,
    )


async def test_any_order_of_payloads_leads_to_the_same_products(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    menus = [
        make_menu({"a": {}, "b": {"Options": ["1g", "1oz"]}, "d": {}}),
        make_menu({"a": {"recPrices": [21]}, "b": {}, "c": {}}),
        make_menu({"a": {"recPrices": [22]}, "c": {"Name": "Renamed"}}),
        make_menu({"a": {"Status": "Inactive"}, "b": {"recPrices": [9]}}),
        make_menu({"a": {"recPrices": [24]}}),
    ]
    outcomes = []
    for order in itertools.islice(itertools.permutations(range(5)), 0, None, 7):
        store = await new_store()
        for hour in order:
            await refresh(store, hour, menus[hour])
        outcomes.append(await query(CURRENT_PRODUCTS, store))

    assert len(outcomes) > 15
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert [row["consecutive_misses"] for row in outcomes[0]] == [0, 1, 2, 3]


async def test_concurrent_refreshes_of_one_store_neither_deadlock_nor_duplicate(
    database: str, new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, query: Query
) -> None:
    store = await new_store()
    keys = [f"{number:03}" for number in range(60)]
    menus = {hour: make_menu({key: {"recPrices": [hour + 1]} for key in keys[:: (-1) ** hour]}) for hour in range(4)}
    payloads = {hour: await new_payload(store, hour) for hour in menus}

    async def run(hour: int) -> None:
        async with await psycopg.AsyncConnection.connect(database) as own:
            await apply_menu(own, payloads[hour], store, START + timedelta(hours=hour), menus[hour])

    await asyncio.gather(*(run(hour) for hour in (0, 1, 2, 3, 3, 2, 1, 0)))

    rows = await query(CURRENT_PRODUCTS, store)
    assert {row["price_rec_cents"] for row in rows} == {400}
    assert len(rows) == 60
    assert len(await query("select payload_id from storecrawl.captured_variants")) == 4 * 60
