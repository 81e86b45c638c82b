"""The feed of changes: each change is published once, and in an order that readers can rely on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import (
    ChangeFilter,
    ChangeKind,
    ChangesDropped,
    RefreshReport,
    UnknownPosition,
    apply_menu,
    darken_stores,
    drop_changes,
    publish_changes,
    read_changes,
)
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

START = datetime(2026, 5, 1, tzinfo=UTC)
PRICE, ADDED = ChangeKind.PRICE_CHANGED, ChangeKind.PRODUCT_ADDED

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
NewPayload = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]
Published = Callable[[], Awaitable[list[tuple[str, str | None]]]]


@pytest.fixture
def published(connection: psycopg.AsyncConnection) -> Published:
    """Publish changes; return the kind and product of all of them."""

    async def read() -> list[tuple[str, str | None]]:
        await publish_changes(connection)
        page = await read_changes(connection, ChangeFilter())
        return [(change.kind, change.product_name) for change in page.items]

    return read


async def test_new_price_is_published_with_the_old_one(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b"]))
    await refresh(store, 1, make_menu({"a": {"recPrices": [15]}, "b": {}}))
    await publish_changes(connection)

    [change] = (await read_changes(connection, ChangeFilter())).items

    assert (change.kind, change.position, change.store_id, change.option, change.sequence) == (PRICE, 1, store, "1g", 1)
    assert change.old == {"price_rec_cents": 2000}
    assert change.new == {"price_rec_cents": 1500}


async def test_added_removed_and_returned_product_is_a_change_each_time(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, published: Published
) -> None:
    store = await new_store()
    for hour, products in enumerate(["ab", "abc", "ab", "ab", "ab", "abc"]):
        await refresh(store, hour, make_menu(list(products)))

    kinds = (ADDED, ChangeKind.PRODUCT_REMOVED, ChangeKind.PRODUCT_RETURNED)
    assert await published() == [(kind, "Product c") for kind in kinds]


async def test_replay_with_another_reading_is_no_change(
    new_store: NewStore, new_payload: NewPayload, make_menu: MakeMenu, refresh: Refresh, published: Published
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a"]))
    payload = await new_payload(store, 1)
    await refresh(store, 1, make_menu(["a"]), payload)

    await refresh(store, 1, make_menu({"a": {"recPrices": [7]}, "b": {}}), payload)

    assert await published() == []


async def test_product_of_a_late_payload_is_no_change(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, published: Published
) -> None:
    store = await new_store()
    for hour, products in ((0, ["a"]), (2, ["a"]), (1, ["a", "b"])):
        await refresh(store, hour, make_menu(products))

    assert await published() == []


async def test_dark_store_and_its_next_menu_are_changes(
    connection: psycopg.AsyncConnection,
    new_store: NewStore,
    make_menu: MakeMenu,
    refresh: Refresh,
    published: Published,
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a"]))
    await darken_stores(connection, timedelta(days=1))
    await refresh(store, 1, make_menu(["a"]))

    assert await published() == [(ChangeKind.STORE_DARK, None), (ChangeKind.STORE_LIGHT, None)]


async def test_change_that_commits_late_is_neither_skipped_nor_repeated(
    database: str,
    connection: psycopg.AsyncConnection,
    new_store: NewStore,
    new_payload: NewPayload,
    make_menu: MakeMenu,
    refresh: Refresh,
) -> None:
    slow, quick = [await new_store() for _ in range(2)]
    for store in (slow, quick):
        await refresh(store, 0, make_menu(["a"]))
    payload = await new_payload(slow, 1)
    changed, hour = make_menu({"a": {"recPrices": [7]}}), START + timedelta(hours=1)

    async with await psycopg.AsyncConnection.connect(database) as late:
        await apply_menu(late, payload, slow, hour, changed)
        await refresh(quick, 1, changed)
        await publish_changes(connection)
        first = await read_changes(connection, ChangeFilter())
        await late.commit()
    await publish_changes(connection)
    second = await read_changes(connection, ChangeFilter(since=first.next_since))

    assert [change.store_id for change in first.items] == [quick]
    assert [change.store_id for change in second.items] == [slow]


async def test_page_continues_behind_changes_that_do_not_match(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a"]))
    await refresh(store, 1, make_menu({"a": {"recPrices": [7]}, "b": {}, "c": {}}))
    await publish_changes(connection)

    first = await read_changes(connection, ChangeFilter(kinds=[ADDED], limit=1))
    second = await read_changes(connection, ChangeFilter(kinds=[ADDED], limit=1, since=first.next_since))
    third = await read_changes(connection, ChangeFilter(kinds=[ADDED], limit=1, since=second.next_since))

    assert [change.product_name for page in (first, second, third) for change in page.items] == [
        "Product b",
        "Product c",
    ]
    assert (third.next_since, third.published) == (3, 3)


async def test_position_that_retention_has_passed_is_refused(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    for hour, price in enumerate([20, 7, 8]):
        await refresh(store, hour, make_menu({"a": {"recPrices": [price]}}))
    await publish_changes(connection)
    await connection.execute("update storecrawl.catalog_changes set at = at - interval '1 hour' where position = 1")

    assert await drop_changes(connection, timedelta(minutes=30)) == 1

    assert [change.position for change in (await read_changes(connection, ChangeFilter())).items] == [2]
    with pytest.raises(ChangesDropped):
        await read_changes(connection, ChangeFilter(since=0))
    with pytest.raises(UnknownPosition):
        await read_changes(connection, ChangeFilter(since=3))
