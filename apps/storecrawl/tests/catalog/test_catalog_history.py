"""The histories of products, prices and stock against a plain model, whatever the order of payloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from storecrawl.catalog import RefreshReport
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
    others = {
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
        (sequence, product.external_id, option.option, option.price_rec_cents, option.special_rec_cents, option.quantity)
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
