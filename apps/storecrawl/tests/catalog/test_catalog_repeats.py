"""Payloads identical to the previous one of their store, applied without parsing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any, LiteralString

import psycopg
import pytest
from storecrawl.catalog import RefreshReport, find_payload, list_refusals, repeat_menu
from storecrawl.catalog.normalize import Menu
from storecrawl.catalog.product_history import HistoryFilter, captured_history

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Repeat = Callable[..., Awaitable[RefreshReport | None]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]

MENU = {
    "a": {},
    "b": {"recPrices": [30]},
    "c": {"Name": None},
    "d": {"Options": ["1g", "2g"], "recPrices": [9, "dear"]},
}
PRODUCTS = (
    "select external_id, name, availability::text, in_stock, consecutive_misses, first_seen_at, seen_at, changed_at,"
    " revised_at, payload.fetched_at from storecrawl.products as product"
    " join storecrawl.product_sightings as seen on product_id = product.id"
    " join storecrawl.payloads as payload on payload.id = payload_id"
    " where product.store_id = %s order by external_id"
)
CAPTURED = (
    "select external_id, payload.fetched_at, captured_at, captured.name, captured.availability::text, captured.in_stock"
    " from storecrawl.captured_products as captured join storecrawl.products as product on product.id = product_id"
    " join storecrawl.payloads as payload on payload.id = payload_id"
    " where captured.store_id = %s order by captured_at, external_id"
)
OPTIONS = (
    "select external_id, option, captured_at, price_rec_cents, quantity from storecrawl.captured_variants"
    " join storecrawl.products as product on product.id = product_id"
    " where store_id = %s order by captured_at, external_id, option"
)
APPLIED = (
    "select fetched_at, applied_count, complete, refused_products, refused_options from storecrawl.payloads"
    " where store_id = %s and applied_at is not null order by fetched_at"
)
REFUSED = (
    "select fetched_at, record_index, external_id, option, reason from storecrawl.refusals as refusal"
    " join storecrawl.payloads as payload on payload.id = payload_id"
    " where refusal.store_id = %s order by fetched_at, record_index, option"
)
KNOWN = (PRODUCTS, CAPTURED, OPTIONS, APPLIED, REFUSED)
SPANS = (
    "select (select count(*) from storecrawl.product_history) as products,"
    " (select count(*) from storecrawl.price_history) as prices,"
    " (select count(*) from storecrawl.stock_history) as stocks"
)


@pytest.fixture
def repeat(connection: psycopg.AsyncConnection, new_payload: NewPayload) -> Repeat:

    async def run(store: int, hour: int, payload: int | None = None) -> RefreshReport | None:
        payload_id = payload or await new_payload(store, hour)
        async with connection.transaction():
            return await repeat_menu(connection, await find_payload(connection, payload_id))

    return run


async def test_repeat_has_the_same_effect_as_reading_the_payload(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, repeat: Repeat, query: Query
) -> None:
    read, unread = await new_store(), await new_store()
    for store in (read, unread):
        await refresh(store, 0, make_menu(["a", "gone"]))
        await refresh(store, 1, make_menu(MENU))

    refresh_reports = [await refresh(read, hour, make_menu(MENU)) for hour in (2, 3, 4)]
    repeat_reports = [await repeat(unread, hour) for hour in (2, 3, 4)]

    for known in KNOWN:
        assert await query(known, unread) == await query(known, read)
    left_out = {"payload_id"}
    assert [_but(report, left_out) for report in repeat_reports] == [
        _but(report, left_out) for report in refresh_reports
    ]


async def test_repeat_adds_nothing_to_the_history(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, repeat: Repeat, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(MENU))
    before = await query(SPANS)

    report = await repeat(store, 1)

    assert report is not None
    assert report.history_changes == 0
    assert await query(SPANS) == before


async def test_product_history_includes_every_payload_even_repeats(
    connection: psycopg.AsyncConnection,
    new_store: NewStore,
    make_menu: MakeMenu,
    refresh: Refresh,
    repeat: Repeat,
    query: Query,
) -> None:
    store = await new_store()
    for hour, price in ((0, 20), (3, 25)):
        await refresh(store, hour, make_menu({"a": {"recPrices": [price]}}))
        await repeat(store, hour + 1)
        await repeat(store, hour + 2)
    [product] = await query("select id from storecrawl.products")

    history = (await captured_history(connection, product["id"], HistoryFilter()))[::-1]

    assert [option.cents for each in history for option in each.options] == [2000, 2000, 2000, 2500, 2500, 2500]
    assert len({each.payload_id for each in history}) == 6
    last = (await captured_history(connection, product["id"], HistoryFilter(limit=2)))[::-1]
    assert last == history[-2:]


async def test_price_history_contains_the_days_without_a_change(
    connection: psycopg.AsyncConnection,
    new_store: NewStore,
    make_menu: MakeMenu,
    refresh: Refresh,
    repeat: Repeat,
    query: Query,
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a"]))
    await repeat(store, 24)
    await repeat(store, 48)

    days = await query("select day, price_rec_cents from storecrawl.price_history_by_day order by day")

    assert [tuple(row.values()) for row in days] == [(date(2026, 5, day), 2000) for day in (1, 2, 3)]


async def test_later_replay_of_a_repeat_changes_nothing(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, repeat: Repeat, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(MENU))
    payload = await new_payload(store, 1)
    await repeat(store, 1, payload)
    before = [await query(known, store) for known in KNOWN]
    spans_before = await query(SPANS)

    await refresh(store, 1, make_menu(MENU), payload)

    assert [await query(known, store) for known in KNOWN] == before
    assert await query(SPANS) == spans_before


@pytest.mark.parametrize(
    "otherwise",
    [
        "update storecrawl.payloads set catalog_version = 'another' where id = %s returning id",
        "update storecrawl.payloads set catalog_version = null where id = %s returning id",
        "update storecrawl.payloads set sha256 = repeat('1', 64) where id = %s returning id",
        "update storecrawl.payloads set complete = false where id = %s returning id",
        "update storecrawl.payloads set refused_products = 1001 where id = %s returning id",
        "update storecrawl.payloads set sequence = sequence + 9 where id = %s returning id",
    ],
    ids=["another normalizer", "an older release", "another document", "not complete", "much refused", "later"],
)
async def test_payload_is_read_if_the_last_one_cannot_be_repeated(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, repeat: Repeat, query: Query, otherwise: LiteralString
) -> None:
    store = await new_store()
    last = (await refresh(store, 0, make_menu(MENU))).payload_id
    await query(otherwise, last)
    before = await query(PRODUCTS, store)

    assert await repeat(store, 1) is None
    assert await query(PRODUCTS, store) == before


async def test_first_payload_and_an_already_applied_one_are_read(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, repeat: Repeat
) -> None:
    store = await new_store()
    payload = await new_payload(store, 0)

    assert await repeat(store, 0, payload) is None
    await refresh(store, 0, make_menu(MENU), payload)
    assert await repeat(store, 0, payload) is None


async def test_document_is_read_once_after_a_normalizer_change(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, repeat: Repeat, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(MENU))
    await query("update storecrawl.payloads set catalog_version = 'another' returning id")

    assert await repeat(store, 1) is None
    await refresh(store, 2, make_menu(MENU))
    assert await repeat(store, 3) is not None


async def test_refusals_of_a_repeat_are_listed(
    connection: psycopg.AsyncConnection,
    new_store: NewStore,
    new_payload: NewPayload,
    make_menu: MakeMenu,
    refresh: Refresh,
    repeat: Repeat,
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(MENU))
    payload = await new_payload(store, 1)
    await repeat(store, 1, payload)

    refused = await list_refusals(connection, payload_id=payload)

    assert {each.external_id for each in refused} >= {"c"}


def _but(report: RefreshReport | None, names: set[str]) -> dict[str, object]:
    assert report is not None
    return {name: getattr(report, name) for name in report.__slots__ if name not in names}
