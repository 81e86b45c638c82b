"""Rows of another catalog version are written again, and a replay corrects rows and history without a change."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import pytest
from storecrawl.catalog import RefreshReport
from storecrawl.catalog.normalize import Menu
from storecrawl.catalog.version import MODULES, STATEMENTS

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]

SPECIAL = {"special": True, "recSpecialPrices": [15]}


@pytest.mark.asyncio
async def test_row_of_another_version_is_written_although_its_content_is_the_same(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a"]))
    await query("update storecrawl.products set catalog_version = 'another', name = 'Wrong' returning id")

    report = await refresh(store, 1, make_menu(["a"]))

    [row] = await query("select name, changed_at = first_seen_at as is_as_before from storecrawl.products")
    assert (report.updated, row) == (1, {"name": "Product a", "is_as_before": True})


@pytest.mark.asyncio
async def test_replay_corrects_a_wrong_row(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    payload = await new_payload(store, 0)
    await refresh(store, 0, make_menu(["a"]), payload)
    await query("update storecrawl.variants set price_rec_cents = 1 returning id")

    await refresh(store, 0, make_menu(["a"]), payload)

    assert await query("select price_rec_cents, price_changes from storecrawl.variants") == [
        {"price_rec_cents": 2000, "price_changes": 0}
    ]


@pytest.mark.asyncio
async def test_replays_with_a_corrected_reading_change_the_history_and_count_no_price_change(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    payloads = [await new_payload(store, hour) for hour in range(2)]
    for hour, payload in enumerate(payloads):
        await refresh(store, hour, make_menu(["a", "b"]), payload)

    for hour, payload in enumerate(payloads):
        await refresh(store, hour, make_menu({"a": SPECIAL}), payload)

    captured = "select option, special_rec_cents from storecrawl.captured_variants"
    assert await query(captured) == [{"option": "1g", "special_rec_cents": 1500}] * 2
    current = "select special_rec_cents, price_changes from storecrawl.variants order by special_rec_cents"
    assert await query(current) == [
        {"special_rec_cents": 1500, "price_changes": 0},
        {"special_rec_cents": None, "price_changes": 0},
    ]


@pytest.mark.asyncio
async def test_late_payload_is_counted_in_the_price_changes(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, price in ((1, 20), (3, 20), (2, 30)):
        await refresh(store, hour, make_menu({"a": {"recPrices": [price]}}))

    assert await query("select price_changes from storecrawl.variants") == [{"price_changes": 2}]


@pytest.mark.asyncio
async def test_replay_of_an_older_menu_does_not_bring_back_forgotten_stock(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    payload = await new_payload(store, 0)
    await refresh(store, 0, make_menu(["a", "b"]), payload)
    await query("update storecrawl.products set availability = 'unknown', in_stock = false returning id")
    await refresh(store, 1, make_menu(["b"]))

    await refresh(store, 0, make_menu(["a", "b"]), payload)

    shown = "select external_id, availability::text from storecrawl.products order by 1"
    assert [tuple(row.values()) for row in await query(shown)] == [("a", "unknown"), ("b", "in_stock")]


@pytest.mark.parametrize("module", MODULES)
def test_version_includes_all_statements_of_its_modules(module: str) -> None:
    tree = ast.parse(files("storecrawl.catalog").joinpath(f"{module}.py").read_text())
    used = {
        alias.name.lower()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "storecrawl.catalog.sql"
        for alias in node.names
    }
    assert used <= {*STATEMENTS, "payloads"}
