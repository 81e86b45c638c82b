"""A refresh of a store updates the rows that earlier refreshes have written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import RefreshReport, UnknownPayload, apply_menu
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

START = datetime(2026, 5, 1, tzinfo=UTC)

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]


async def test_first_payload_creates_products_variants_and_history(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    menu = make_menu({"a": {}, "b": {"Options": ["1g", "1oz"], "recPrices": [10, 200]}})

    report = await refresh(await new_store(), 0, menu)

    assert (report.new, report.updated, report.unchanged, report.missing) == (2, 0, 0, 0)
    assert report.history_changes == 2 + 3 + 3


async def test_product_is_stored_normalized_next_to_its_raw_spelling(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    members = {
        "Name": " Salt &amp; Pepper ",
        "brandName": "Cresco ",
        "type": "Pre-Rolls",
        "subcategory": "LIVE_RESIN",
        "strainType": "N/A",
        "THCContent": {"unit": "PERCENTAGE", "range": [20, 24.5]},
        "createdAt": "1758030118081",
    }
    await refresh(await new_store(), 0, make_menu({"a": members}))

    [row] = await query(
        "select name, name_raw, brand, brand_raw, category, category_raw, subcategory,"
        " strain_type, strain_type_raw, thc_lo::text, thc_hi::text, thc_unit, cbd_lo,"
        " availability::text, listed_at from storecrawl.products"
    )
    assert row == {
        "name": "Salt & Pepper",
        "name_raw": " Salt &amp; Pepper ",
        "brand": "Cresco",
        "brand_raw": "Cresco ",
        "category": "pre_rolls",
        "category_raw": "Pre-Rolls",
        "subcategory": "live-resin",
        "strain_type": None,
        "strain_type_raw": "N/A",
        "thc_lo": "20.000",
        "thc_hi": "24.500",
        "thc_unit": "PERCENTAGE",
        "cbd_lo": None,
        "availability": "in_stock",
        "listed_at": datetime(2025, 9, 16, 13, 41, 58, 81_000, tzinfo=UTC),
    }


async def test_variant_is_stored_in_cents_with_its_special(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    members = {
        "Options": ["1/8oz"],
        "recPrices": [43],
        "medicalPrices": [40],
        "special": True,
        "recSpecialPrices": [27.95],
        "manualInventory": [{"option": "1/8oz", "inventory": 3}],
    }
    await refresh(await new_store(), 0, make_menu({"a": members}))

    [row] = await query(
        "select option, weight_value::text, weight_unit, price_rec_cents, price_med_cents, special_rec_cents,"
        " special_med_cents, is_on_special, quantity, in_stock, listed from storecrawl.variants"
    )
    assert row == {
        "option": "1/8oz",
        "weight_value": "3.500",
        "weight_unit": "g",
        "price_rec_cents": 4300,
        "price_med_cents": 4000,
        "special_rec_cents": 2795,
        "special_med_cents": None,
        "is_on_special": True,
        "quantity": 3,
        "in_stock": True,
        "listed": True,
    }


async def test_unchanged_product_only_changes_its_last_sighting(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a"]))

    report = await refresh(store, 1, make_menu(["a"]))

    assert (report.new, report.updated, report.unchanged, report.history_changes) == (0, 0, 1, 0)
    [row] = await query(
        "select first_seen_at, seen_at, changed_at, payload_id from storecrawl.products as product"
        " join storecrawl.product_sightings on product_id = product.id"
    )
    hour = timedelta(hours=1)
    assert (row["first_seen_at"], row["seen_at"], row["changed_at"]) == (START, START + hour, START)
    assert row["payload_id"] == report.payload_id


async def test_changed_price_is_stored_and_both_prices_stay_in_the_history(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu({"a": {"recPrices": [20]}}))

    report = await refresh(store, 1, make_menu({"a": {"recPrices": [18]}}))

    assert report.updated == 1
    assert await query("select price_rec_cents from storecrawl.variants") == [{"price_rec_cents": 1800}]
    prices = await query("select price_rec_cents from storecrawl.price_history order by from_sequence")
    assert [row["price_rec_cents"] for row in prices] == [2000, 1800]


async def test_missing_option_stays_as_unlisted(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu({"a": {"Options": ["1g", "1oz"]}}))
    await refresh(store, 1, make_menu({"a": {"Options": ["1g"]}}))

    rows = await query("select option, listed, in_stock from storecrawl.variants order by option")
    assert [tuple(row.values()) for row in rows] == [("1g", True, True), ("1oz", False, False)]


async def test_returning_option_is_listed_again(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, options in enumerate((["1g", "1oz"], ["1g"], ["1g", "1oz"])):
        await refresh(store, hour, make_menu({"a": {"Options": options}}))

    rows = await query("select option, listed, in_stock from storecrawl.variants order by option")
    assert [tuple(row.values()) for row in rows] == [("1g", True, True), ("1oz", True, True)]


async def test_equal_products_of_two_stores_stay_separate(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    for _ in range(2):
        await refresh(await new_store(), 0, make_menu(["a"]))

    assert len(await query("select id from storecrawl.products")) == 2


async def test_empty_first_menu_is_applied(new_store: NewStore, make_menu: MakeMenu, refresh: Refresh) -> None:
    report = await refresh(await new_store(), 0, make_menu([]))

    assert (report.new, report.history_changes) == (0, 0)


async def test_payload_of_another_store_is_rejected(
    connection: psycopg.AsyncConnection, new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu
) -> None:
    payload = await new_payload(await new_store(), 0)
    other = await new_store()

    with pytest.raises(UnknownPayload):
        await apply_menu(connection, payload, other, START, make_menu(["a"]))


async def test_refresh_does_not_commit_the_callers_transaction(
    connection: psycopg.AsyncConnection,
    new_store: NewStore,
    new_payload: NewPayload,
    make_menu: MakeMenu,
    query: Query,
) -> None:
    store = await new_store()
    payload = await new_payload(store, 0)

    async with connection.transaction(force_rollback=True):
        await apply_menu(connection, payload, store, START, make_menu(["a"]))

    assert await query("select id from storecrawl.products") == []
    assert await query("select id from storecrawl.payloads where applied_at is not null") == []
