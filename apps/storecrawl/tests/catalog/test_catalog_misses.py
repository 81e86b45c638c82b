"""Products missing from menus: counted, out of stock at the threshold, never deleted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from storecrawl.catalog import RefreshReport
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]

STATE_OF_B = "select consecutive_misses, availability::text, in_stock from storecrawl.products where external_id = 'b'"


@pytest.mark.parametrize(
    ("absences", "expected"),
    [
        (0, (0, "in_stock", True)),
        (1, (1, "in_stock", True)),
        (2, (2, "in_stock", True)),
        (3, (3, "removed_from_menu", False)),
        (5, (3, "removed_from_menu", False)),
    ],
)
async def test_third_consecutive_miss_removes_a_product(
    new_store: NewStore,
    make_menu: MakeMenu,
    refresh: Refresh,
    query: Query,
    absences: int,
    expected: tuple[int, str, bool],
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b"]))
    for hour in range(1, absences + 1):
        await refresh(store, hour, make_menu(["a"]))

    [row] = await query(STATE_OF_B)
    assert tuple(row.values()) == expected


async def test_report_contains_missed_and_removed_products(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b", "c"]))

    reports = [await refresh(store, hour, make_menu(["a"])) for hour in (1, 2, 3, 4)]

    assert [(report.missing, report.out_of_stock) for report in reports] == [(2, 0), (2, 0), (2, 2), (0, 0)]


async def test_removed_product_has_nothing_in_stock(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, products in enumerate((["a", "b"], ["a"], ["a"], ["a"])):
        await refresh(store, hour, make_menu(products))

    rows = await query(
        "select external_id, variant.in_stock from storecrawl.variants as variant"
        " join storecrawl.products as product on product.id = product_id order by external_id"
    )
    assert [tuple(row.values()) for row in rows] == [("a", True), ("b", False)]


async def test_removed_product_is_never_deleted(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, products in enumerate((["a", "b"], ["a"], ["a"], ["a"], ["a"])):
        await refresh(store, hour, make_menu(products))

    assert len(await query("select id from storecrawl.products")) == 2
    assert len(await query("select id from storecrawl.variants")) == 2
    assert len(await query("select payload_id from storecrawl.captured_products")) == 6


@pytest.mark.parametrize("absences", [1, 2, 3, 4])
async def test_returning_product_resets_its_miss_count(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query, absences: int
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b"]))
    for hour in range(1, absences + 1):
        await refresh(store, hour, make_menu(["a"]))

    report = await refresh(store, 10, make_menu(["a", "b"]))

    assert report.returned == (1 if absences >= 3 else 0)
    [row] = await query(STATE_OF_B)
    assert tuple(row.values()) == (0, "in_stock", True)
    assert await query("select id from storecrawl.variants where not in_stock") == []


async def test_unreadable_product_does_not_count_as_missed(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b"]))
    for hour in (1, 2, 3):
        report = await refresh(store, hour, make_menu({"a": {}, "b": {"Name": None}}))
        assert (report.refused, report.missing) == (1, 0)

    [row] = await query(STATE_OF_B)
    assert tuple(row.values()) == (0, "in_stock", True)


async def test_products_absent_from_an_incomplete_menu_do_not_count_as_missed(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b"]))
    for hour in (1, 2, 3):
        report = await refresh(store, hour, make_menu(["a"], total=2))
        assert (report.missing, report.left_out) == (0, 1)
    assert (await refresh(store, 4, make_menu(["a"]))).missing == 1

    [row] = await query(STATE_OF_B)
    assert tuple(row.values()) == (1, "in_stock", True)
