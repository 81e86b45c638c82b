"""The histories of products, prices and stock against a plain model, whatever the order of payloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from random import Random
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import RefreshReport, keep_months
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]

FETCHES = range(8)
CAPTURED_PRODUCTS = (
    "select captured.sequence, external_id, captured.name, captured.brand, captured.in_stock"
    " from storecrawl.captured_products as captured join storecrawl.products as product on product.id = product_id"
    " where captured.store_id = %s order by 1, 2"
)
CAPTURED_VARIANTS = (
    "select sequence, external_id, option, price_rec_cents, special_rec_cents, quantity"
    " from storecrawl.captured_variants join storecrawl.products as product on product.id = product_id"
    " where store_id = %s order by 1, 2, 3"
)
PRICE_CHANGES = (
    "select external_id, option, price_changes from storecrawl.variants"
    " join storecrawl.products as product on product.id = product_id where store_id = %s"
)
SPANS_TO_MERGE = """
select *
from (
    select
        product_id, option, from_sequence, row(price_rec_cents, special_rec_cents) as prices,
        lag(to_sequence) over record as ended, lag(row(price_rec_cents, special_rec_cents)) over record as before
    from storecrawl.price_history
    window record as (partition by product_id, option order by from_sequence)
) as span
where ended = from_sequence and prices = before or ended > from_sequence or (ended is null and before is not null)
"""


def random_records(random: Random) -> dict[str, dict[str, object]]:
    others: dict[str, dict[str, object]] = {
        key: {
            "Name": random.choice(["Sun", "Moon", None]),
            "brandName": random.choice(["Wana", "Kiva"]),
            "Options": (options := random.choice([["1g"], ["1g", "1oz"]])),
            "recPrices": [random.choice([10, 20]) for _ in options],
            "special": True,
            "recSpecialPrices": [random.choice([5, 20]) for _ in options],
            "POSMetaData": {"children": [{"option": each, "quantity": random.choice([3, 4])} for each in options]},
            "Status": random.choice(["Active", "Inactive"]),
        }
        for key in "abcd"
        if random.random() < 0.7
    }
    return {"always": {}, **others}


def products_of(menus: dict[int, Menu]) -> list[tuple[object, ...]]:
    return [
        (sequence, product.external_id, product.name, product.brand, product.in_stock)
        for sequence, menu in sorted(menus.items())
        for product in sorted(menu.products, key=lambda product: product.external_id)
    ]


def variants_of(menus: dict[int, Menu]) -> list[tuple[object, ...]]:
    return [
        (
            sequence,
            product.external_id,
            option.option,
            option.price_rec_cents,
            option.special_rec_cents,
            option.quantity,
        )
        for sequence, menu in sorted(menus.items())
        for product in sorted(menu.products, key=lambda product: product.external_id)
        for option in sorted(product.variants, key=lambda option: option.option)
    ]


def price_changes_of(menus: dict[int, Menu]) -> dict[tuple[object, object], int]:
    prices: dict[tuple[object, object], list[object]] = {}
    for _, product, option, *figures in variants_of(menus):
        prices.setdefault((product, option), []).append(figures[:2])
    return {key: sum(before != after for before, after in pairwise(values)) for key, values in prices.items()}


@pytest.mark.parametrize("seed", range(3))
async def test_history_shows_each_payload_regardless_of_order_repeats_and_corrections(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query, seed: int
) -> None:
    random, store = Random(seed), await new_store()
    payloads = {sequence: await new_payload(store, sequence) for sequence in FETCHES}
    applied: dict[int, Menu] = {}

    for step in range(20):
        sequence = random.choice([*FETCHES])
        same = sequence in applied and random.random() < 0.3
        applied[sequence] = applied[sequence] if same else make_menu(random_records(random))
        await refresh(store, sequence, applied[sequence], payloads[sequence])

        assert [tuple(row.values()) for row in await query(CAPTURED_PRODUCTS, store)] == products_of(applied), step
        assert [tuple(row.values()) for row in await query(CAPTURED_VARIANTS, store)] == variants_of(applied), step
    assert await query(SPANS_TO_MERGE) == []
    changes = price_changes_of(applied)
    for row in await query(PRICE_CHANGES, store):
        assert row["price_changes"] == changes.get((row["external_id"], row["option"]), 0)


async def test_unchanged_menu_writes_no_row_of_a_product_or_history(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store, menu = await new_store(), make_menu({"a": {}, "b": {"Options": ["1g", "1oz"]}})
    await refresh(store, 0, menu)
    rows = (
        "select array(select xmin::text from storecrawl.products) || array(select xmin::text from storecrawl.variants)"
    )
    before = await query(rows)

    report = await refresh(store, 1, menu)

    assert (report.unchanged, report.history_changes) == (2, 0)
    assert await query(rows) == before


async def test_changed_stock_leaves_the_histories_of_products_and_prices_alone(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, quantity in enumerate((40, 39)):
        stock = {"children": [{"option": "1g", "quantity": quantity}]}
        await refresh(store, hour, make_menu({"a": {"POSMetaData": stock}}))

    [counts] = await query(
        "select (select count(*) from storecrawl.product_history) as products,"
        " (select count(*) from storecrawl.price_history) as prices,"
        " (select count(*) from storecrawl.stock_history) as stocks"
    )
    assert counts == {"products": 1, "prices": 1, "stocks": 2}


async def test_months_are_created_ahead_and_dropped_when_they_are_no_longer_kept(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, price in enumerate((10, 20, 30)):
        await refresh(store, hour, make_menu({"a": {"recPrices": [price]}}))
    spans = "select tableoid::regclass::text as name, price_rec_cents from storecrawl.price_history order by 2"
    assert [row["name"] for row in await query(spans)] == [
        "storecrawl.price_history_other",
        "storecrawl.price_history_other",
        "storecrawl.price_history_current",
    ]

    months = "select storecrawl.keep_history_months('price_history', '2026-05-01', '2026-06-01') as created"
    assert await query(months) == [{"created": 2}]
    assert [row["name"] for row in await query(spans)][:2] == 2 * ["storecrawl.price_history_2026_05"]
    ended = "select storecrawl.keep_history_months('price_history', now(), now(), '2026-06-01') as dropped"
    assert await query(ended) == [{"dropped": 1}]

    assert [row["price_rec_cents"] for row in await query(spans)] == [3000]
    assert await keep_months(connection, 24) == 0
