"""A menu that is implausibly small is refused before anything is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from storecrawl.catalog import ImplausibleMenu, RefreshReport
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]


def _keys(count: int) -> list[str]:
    return [f"{number:03}" for number in range(count)]


async def test_single_page_of_a_menu_is_rejected_as_a_menu(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    with pytest.raises(ImplausibleMenu, match="25 products, but the document claims 814"):
        await refresh(await new_store(), 0, make_menu(_keys(25), total=814))


async def test_few_products_shifted_between_pages_are_tolerated(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    assert (await refresh(await new_store(), 0, make_menu(_keys(97), total=100))).new == 97


async def test_menu_of_less_than_half_is_rejected_and_nothing_written(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(_keys(40)))

    with pytest.raises(ImplausibleMenu) as refusal:
        await refresh(store, 1, make_menu(_keys(19)))

    assert (refusal.value.count, refusal.value.expected) == (19, 40)
    assert await query("select id from storecrawl.products where consecutive_misses > 0") == []
    assert len(await query("select id from storecrawl.payloads where applied_at is null")) == 1


async def test_menu_of_half_is_accepted(new_store: NewStore, make_menu: MakeMenu, refresh: Refresh) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(_keys(40)))

    assert (await refresh(store, 1, make_menu(_keys(20)))).missing == 20


async def test_emptied_menu_is_rejected(new_store: NewStore, make_menu: MakeMenu, refresh: Refresh) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(_keys(40)))

    with pytest.raises(ImplausibleMenu):
        await refresh(store, 1, make_menu([]))


async def test_small_store_can_shrink_by_any_amount(new_store: NewStore, make_menu: MakeMenu, refresh: Refresh) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(_keys(19)))

    assert (await refresh(store, 1, make_menu(_keys(1)))).missing == 18


async def test_store_that_stays_small_is_accepted_the_third_time(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(_keys(40)))
    for hour in (1, 2):
        with pytest.raises(ImplausibleMenu):
            await refresh(store, hour, make_menu(_keys(10)))

    assert (await refresh(store, 3, make_menu(_keys(10)))).missing == 30


async def test_repeated_attempts_with_one_cut_payload_confirm_nothing(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(_keys(40)))
    payload = await new_payload(store, 1, 10)

    for _ in range(5):
        with pytest.raises(ImplausibleMenu):
            await refresh(store, 1, make_menu(_keys(10)), payload)


async def test_older_payload_is_compared_with_the_payloads_before_it(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 5, make_menu(_keys(40)))

    assert (await refresh(store, 1, make_menu(_keys(10)))).stale == 10
