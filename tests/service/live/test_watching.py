"""One poller serves all streams, polls only while streams are open, and misses no change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from rolecall.db.connect import connect_async
from rolecall.model.errors import TaskNotFound, TooManyWatchers, UnknownRole
from rolecall.model.live import ReloadReason
from rolecall.service.live import Live, Wanted
from rolecall.service.live.watch import MOST_OF_ONE
from rolecall.service.live.watch import Live as Watch
from rolecall.testing.databases import TestServer
from rolecall.wake.listener import Connection as Listening
from tests.outage import outage
from tests.service.live.conftest import Recorded
from tests.service.live.watching import LONG, enqueue, told_of, until

Other = psycopg.AsyncConnection[Any]
ALL = Wanted()
LISTENERS = b"""
select pid from pg_stat_activity where datname = current_database() and application_name = 'rolecall:live'
"""
BEGINNING = 2  # a looker asks twice before it looks


async def until_listeners(connection: Other, most: int) -> None:
    """Wait until so few sessions listen: one that was closed is seen a moment longer."""
    async with asyncio.timeout(LONG):
        while len(await (await connection.execute(LISTENERS)).fetchall()) > most:
            await asyncio.sleep(0.05)


async def test_a_task_is_told_when_it_is_enqueued(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        batch = await told_of(stream, task_id)

    change = batch.tasks[task_id]
    assert (change.parent_id, change.role, change.state) == (None, "sums", "pending")


async def test_where_nothing_would_come_nobody_listens_and_changes_are_told_all_the_same(
    recorded: Recorded, closing: asyncio.Event, other: Other
) -> None:
    connected: list[None] = []

    async def connect() -> Listening:
        connected.append(None)
        raise OSError

    live = Watch(recorded, connect, closing, hears=lambda: False)
    async with live.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        await told_of(stream, task_id)
    await live.close()

    assert not connected


async def test_what_was_told_is_not_told_again(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [first] = await enqueue(other)
        await told_of(stream, first)
        [second] = await enqueue(other)

        assert list((await told_of(stream, second)).tasks) == [second]


async def test_a_stream_for_a_role_is_told_of_nothing_else(live: Live, other: Other) -> None:
    async with live.watch(Wanted(roles=frozenset({"sums"}))) as some, live.watch(ALL) as every:
        [unwanted] = await enqueue(other, "see")
        [wanted] = await enqueue(other, "add")
        await told_of(every, unwanted)
        batch = await told_of(some, wanted)

    assert list(batch.tasks) == [wanted]


async def test_roles_are_counted_only_for_who_wants_to_know(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(Wanted(counts=False)) as stream:
        [task_id] = await enqueue(other)
        batch = await told_of(stream, task_id)
        assert not any("role_progress" in query for query in recorded.queries)

        async with live.watch(ALL) as every:
            await enqueue(other)
            await until(every, lambda batch: bool(batch.roles))

    assert batch.roles == {}


async def test_nobody_asks_while_nobody_watches(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        await told_of(stream, task_id)
    asked = len(recorded.queries)
    assert asked > 0

    await enqueue(other)
    # Long enough for several looks, if there were any.
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 1.5)

    assert len(recorded.queries) == asked
    await until_listeners(other, 0)


async def test_two_streams_are_served_by_one_looker(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(ALL) as one, live.watch(ALL) as two:
        [task_id] = await enqueue(other)
        await told_of(one, task_id)
        looks = recorded.looks()
        await told_of(two, task_id)

        assert recorded.looks() == looks
        assert sum("null, null" in query for query in recorded.queries) == BEGINNING
        await until_listeners(other, 1)


async def test_streams_over_the_cap_are_refused(live: Live) -> None:
    async with live.watch(ALL), live.watch(ALL), live.watch(ALL):
        with pytest.raises(TooManyWatchers):
            await live.watch(ALL).__aenter__()


async def test_a_stream_that_has_ended_is_not_counted_against_its_caller(live: Live) -> None:
    for _ in range(MOST_OF_ONE + 1):
        async with live.watch(ALL, caller="ada"):
            pass


async def test_a_stream_that_never_began_is_not_counted_against_its_caller(live: Live) -> None:
    for _ in range(MOST_OF_ONE):
        with pytest.raises(UnknownRole):
            await live.watch(Wanted(roles=frozenset({"sumz"})), caller="ada").__aenter__()

    async with live.watch(ALL, caller="ada"):
        assert live.watchers == 1


async def test_a_stream_for_what_does_not_exist_is_refused(live: Live) -> None:
    with pytest.raises(UnknownRole, match="sums"):
        await live.watch(Wanted(roles=frozenset({"sumz"}))).__aenter__()
    with pytest.raises(TaskNotFound):
        await live.watch(Wanted(roots=frozenset({4711}))).__aenter__()
    assert live.watchers == 0


async def test_all_streams_end_when_the_server_closes(live: Live, closing: asyncio.Event) -> None:
    async with live.watch(ALL) as one, live.watch(ALL) as two:
        closing.set()
        await until(one, lambda _batch: one.ended)

        assert two.ended


async def test_what_commits_late_is_told(
    live: Live, recorded: Recorded, database: str, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolecall.service.live.looks.LONGEST_REACH", timedelta(hours=1))
    async with live.watch(ALL) as stream, await connect_async(database, "slow") as slow:
        async with slow.transaction():
            [late] = await enqueue(slow)
            [early] = await enqueue(other)
            await told_of(stream, early)
            looks = recorded.looks()
            await until_fact(lambda: recorded.looks() >= looks + 3)

        assert late < early
        await told_of(stream, late)


async def test_a_transaction_from_before_the_stream_ends_in_a_reload(live: Live, database: str) -> None:
    async with await connect_async(database, "slow") as slow, slow.transaction():
        await enqueue(slow)
        async with live.watch(ALL) as stream:
            assert stream.id is None
            await slow.execute("commit; begin")
            batch = await until(stream, lambda batch: batch.reload is not None)
            assert batch.reload is ReloadReason.LATE
            await until_fact(lambda: stream.id is not None)


async def test_a_transaction_that_ends_before_the_stream_begins_is_the_past(
    live: Live, recorded: Recorded, database: str
) -> None:
    async with await connect_async(database, "slow") as slow, slow.transaction():
        await enqueue(slow)
        recorded.after_next = slow.execute("commit; begin")
        async with live.watch(ALL) as stream:
            assert stream.id is not None


async def test_transactions_of_other_databases_are_nobodys_business(
    live: Live, postgres_server: TestServer, other: Other
) -> None:
    """Databases are made beside this one all the time: each is a transaction of the server."""
    async with await connect_async(postgres_server.dsn("postgres"), "slow") as slow, slow.transaction():
        await slow.execute("select pg_current_xact_id()")
        async with live.watch(ALL) as stream:
            assert stream.id is not None
            await slow.execute("commit; begin")
            [task_id] = await enqueue(other)
            batch = await until(stream, lambda batch: batch.reload is not None or task_id in batch.tasks)

    assert batch.reload is None


async def test_more_than_a_page_of_changes_is_a_reload(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        await enqueue(other, number=1500)

        assert (await until(stream, lambda batch: batch.reload is not None)).reload is ReloadReason.CROWD


async def test_a_stream_goes_on_after_the_database_cut_all_connections(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        await other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
        [task_id] = await enqueue(other)

        await told_of(stream, task_id)


async def test_who_watches_hears_that_the_database_is_away_and_that_it_is_back(live: Live, database: str) -> None:
    async with live.watch(ALL) as stream:
        with outage(database):
            stale = (await until(stream, lambda batch: batch.stale is not None)).stale
            async with live.watch(ALL) as later:
                stale_later = (await later.next(LONG)).stale
        assert (await until(stream, lambda batch: batch.fresh)).stale is None

    assert stale is not None
    assert stale_later is not None
    assert 0 < stale < stale_later


async def test_streams_need_no_notifications(recorded: Recorded, closing: asyncio.Event, other: Other) -> None:
    async def refuse() -> Listening:
        raise OSError("no LISTEN here")

    deaf = Watch(recorded, refuse, closing)
    async with deaf.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        await told_of(stream, task_id)


async def test_a_role_is_told_when_it_moves_on(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        await enqueue(other)
        batch = await until(stream, lambda batch: "sums" in batch.roles)

    assert list(batch.roles) == ["sums"]
    assert batch.roles["sums"].ready == 1


async def test_a_tree_is_told_at_once_and_when_it_moves_on(live: Live, other: Other) -> None:
    [root] = await enqueue(other)
    async with live.watch(Wanted(roots=frozenset({root}))) as stream:
        first = await stream.next(LONG)
        assert first.trees[root].activity == "pending"

        await other.execute("select rolecall.cancel(%s)", [[root]])
        batch = await until(stream, lambda batch: root in batch.trees)

    assert batch.trees[root].activity == "idle"


async def test_a_client_that_was_away_is_told_what_it_missed(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [before] = await enqueue(other)
        position = (await told_of(stream, before)).id
    [missed] = await enqueue(other)

    async with live.watch(ALL, position) as stream:
        assert missed in (await stream.next(LONG)).tasks


@pytest.mark.parametrize("position", ["1-1", "99999999999999999-1", "nonsense", "1-2-3", "-", f"{10**30}-1"])
async def test_a_position_that_says_nothing_is_a_reload(live: Live, position: str) -> None:
    async with live.watch(ALL, position) as stream:
        assert (await stream.next(LONG)).reload is ReloadReason.AWAY


async def until_fact(is_it: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(LONG):
        while not is_it():
            await asyncio.sleep(0.05)
