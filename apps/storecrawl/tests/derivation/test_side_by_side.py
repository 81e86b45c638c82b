"""Changes and rounds run concurrently without losing changes or blocking each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from rolecall import NewTask

WAITING = """
select count(*) from pg_locks
where not granted and locktype = %s and database = (select oid from pg_database where datname = current_database())
"""
IDLE = "select count(*) from rolecall.all_workers where idle"


@asynccontextmanager
async def open_transaction(market: Any, statement: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(market.dsn) as connection:
        await connection.execute(statement.encode())
        yield connection


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(40):
        while not fact():
            await asyncio.sleep(0.02)


async def test_changes_during_a_round_enqueue_the_next_one_without_waiting(market: Any) -> None:
    first, second = market.stores(2)
    await market.change(first, 0, a={})
    await market.derive()
    await market.change(first, 1, a={"recPrices": [11]})

    async with open_transaction(market, "lock table storecrawl.store_partials"):
        deriving = asyncio.create_task(market.derive())
        await until(lambda: market.value(WAITING, "relation") > 0)
        async with asyncio.timeout(40):
            await market.change(first, 2, a={"recPrices": [12]})
            await market.change(second, 2, b={"brandName": "Wana"})
    await deriving

    assert market.wrong_figures() == []
    a_round = ["collect_changes", "map_stores", "count_stores", "merge_statistics"]
    assert market.handlers()[-9:] == [
        *a_round,
        "collect_changes",
        "map_stores",
        "count_stores",
        "count_stores",
        a_round[3],
    ]


async def test_round_waits_for_no_refresh_and_loses_none(market: Any) -> None:
    first, second = market.stores(2)
    await market.change(first, 0, a={})

    async with await psycopg.AsyncConnection.connect(market.dsn) as refreshing:
        await market.change(second, 0, refreshing, b={"brandName": "Wana"})
        async with asyncio.timeout(40):
            await market.derive()
        assert market.wrong_figures() == []
    assert market.wrong_figures() != []
    await market.derive()

    assert market.wrong_figures() == []


async def test_round_is_claimed_only_after_its_change_commits(market: Any) -> None:
    """This is the only point at which a change could be lost between two rounds."""
    first, second = market.stores(2)
    await market.change(first, 0, a={})

    async with await psycopg.AsyncConnection.connect(market.dsn) as refreshing:
        await market.change(second, 0, refreshing, b={"brandName": "Wana"})
        await refreshing.execute("set constraints all immediate")
        deriving = asyncio.create_task(market.derive())
        await until(lambda: market.value(IDLE) > 0)
    await deriving

    assert market.wrong_figures() == []
    assert market.handlers().count("collect_changes") == 1


async def test_refreshes_of_two_stores_do_not_wait_for_each_other(market: Any) -> None:
    """Both request the same round when they commit."""
    first, second = market.stores(2)
    await market.derive()

    async with await psycopg.AsyncConnection.connect(market.dsn) as refreshing:
        await market.change(first, 0, refreshing, a={})
        async with asyncio.timeout(40):
            await market.change(second, 0, b={"brandName": "Wana"})
    await market.derive()

    assert market.wrong_figures() == []


async def test_concurrent_edits_are_all_counted_eventually(market: Any) -> None:
    """Rounds of edits alternate with full rounds."""
    stores = market.stores(4)

    async def edit(store: int) -> None:
        for hour in range(6):
            await market.change(store, hour, a={"recPrices": [10 + hour]}, **({f"b{hour}": {"brandName": f"B{hour}"}}))

    edits = [asyncio.create_task(edit(store)) for store in stores]
    for _ in range(2):
        await market.derive(NewTask(handler="analytics_refresh"))
    await asyncio.gather(*edits)
    await market.derive()

    assert market.wrong_figures() == []
    overlapping = (
        "select count(*) from rolecall.all_tasks a join rolecall.all_tasks b on a.id < b.id"
        " and tstzrange(a.started_at, a.finished_at) && tstzrange(b.started_at, b.finished_at)"
        " where a.parent_id is null and b.parent_id is null and 'analytics_refresh' = all (array[a.role, b.role])"
    )
    assert market.value(overlapping) == 0


@pytest.mark.parametrize("view", ["category_price_statistics", "brand_counts_by_state"])
async def test_view_refresh_neither_blocks_readers_nor_waits_for_them(market: Any, view: str) -> None:
    [store] = market.stores(1)
    await market.change(store, 0, a={})

    async with open_transaction(market, f"select * from storecrawl.{view}") as reader:
        async with asyncio.timeout(40):
            await market.derive(NewTask(handler="analytics_refresh"))
        rows = await (await reader.execute(f"select count(*) from storecrawl.{view}".encode())).fetchone()

    assert rows == (1,)
