"""One poller serves all streams, polls only while streams are open, and misses no change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from rolecall.db.connect import connect_async
from rolecall.model.errors import TaskNotFound, TooManyWatchers, UnknownRole
from rolecall.model.operator.live import ReloadReason
from rolecall.service.live import Live, Subscription
from rolecall.service.live.watch import MOST_OF_ONE
from rolecall.service.live.watch import Live as Watch
from rolecall.testing.databases import TestServer
from rolecall.transport.listener import Connection as Listening
from tests.outage import outage
from tests.service.live.conftest import Recorded
from tests.service.live.watching import LONG, batch_with, enqueue, until

Other = psycopg.AsyncConnection[Any]
ALL = Subscription()
LISTENERS = b"""
select pid from pg_stat_activity where datname = current_database() and application_name = 'rolecall:live'
"""
BEGINNING = 2  # a poller reads twice before it reports


async def until_listeners(connection: Other, most: int) -> None:
    """Wait until at most this many sessions listen. A closed one is visible for a moment longer."""
    async with asyncio.timeout(LONG):
        while len(await (await connection.execute(LISTENERS)).fetchall()) > most:
            await asyncio.sleep(0.05)


async def test_enqueued_task_is_reported(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        batch = await batch_with(stream, task_id)

    change = batch.tasks[task_id]
    assert (change.parent_id, change.role, change.state) == (None, "sums", "pending")


async def test_changes_are_reported_even_if_listening_is_impossible(
    recorded: Recorded, closing: asyncio.Event, other: Other
) -> None:
    connected: list[None] = []

    async def connect() -> Listening:
        connected.append(None)
        raise OSError

    live = Watch(recorded, connect, closing, can_listen=lambda: False)
    async with live.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        await batch_with(stream, task_id)
    await live.close()

    assert not connected


async def test_change_is_reported_only_once(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [first] = await enqueue(other)
        await batch_with(stream, first)
        [second] = await enqueue(other)

        assert list((await batch_with(stream, second)).tasks) == [second]


async def test_stream_for_a_role_reports_no_other_role(live: Live, other: Other) -> None:
    async with live.watch(Subscription(roles=frozenset({"sums"}))) as some, live.watch(ALL) as every:
        [unwanted] = await enqueue(other, "see")
        [wanted] = await enqueue(other, "add")
        await batch_with(every, unwanted)
        batch = await batch_with(some, wanted)

    assert list(batch.tasks) == [wanted]


async def test_roles_are_counted_only_on_request(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(Subscription(counts=False)) as stream:
        [task_id] = await enqueue(other)
        batch = await batch_with(stream, task_id)
        assert not any("role_progress" in query for query in recorded.queries)

        async with live.watch(ALL) as every:
            await enqueue(other)
            await until(every, lambda batch: bool(batch.roles))

    assert batch.roles == {}


async def test_nothing_is_queried_while_nobody_watches(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        await batch_with(stream, task_id)
    number = len(recorded.queries)
    assert number > 0

    await enqueue(other)
    # Long enough for several polls, if there were any.
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 1.5)

    assert len(recorded.queries) == number
    await until_listeners(other, 0)


async def test_two_streams_share_one_poller(live: Live, recorded: Recorded, other: Other) -> None:
    async with live.watch(ALL) as one, live.watch(ALL) as two:
        [task_id] = await enqueue(other)
        await batch_with(one, task_id)
        looks = recorded.looks()
        await batch_with(two, task_id)

        assert recorded.looks() == looks
        assert sum("null, null" in query for query in recorded.queries) == BEGINNING
        await until_listeners(other, 1)


async def test_streams_over_the_limit_are_rejected(live: Live) -> None:
    async with live.watch(ALL), live.watch(ALL), live.watch(ALL):
        with pytest.raises(TooManyWatchers):
            await live.watch(ALL).__aenter__()


async def test_finished_stream_does_not_count_against_its_caller(live: Live) -> None:
    for _ in range(MOST_OF_ONE + 1):
        async with live.watch(ALL, caller="ada"):
            pass


async def test_stream_that_never_started_does_not_count_against_its_caller(live: Live) -> None:
    for _ in range(MOST_OF_ONE):
        with pytest.raises(UnknownRole):
            await live.watch(Subscription(roles=frozenset({"sumz"})), caller="ada").__aenter__()

    async with live.watch(ALL, caller="ada"):
        assert live.watchers == 1


async def test_stream_for_an_unknown_role_or_task_is_rejected(live: Live) -> None:
    with pytest.raises(UnknownRole, match="sums"):
        await live.watch(Subscription(roles=frozenset({"sumz"}))).__aenter__()
    with pytest.raises(TaskNotFound):
        await live.watch(Subscription(roots=frozenset({4711}))).__aenter__()
    assert live.watchers == 0


async def test_all_streams_end_when_the_server_stops(live: Live, closing: asyncio.Event) -> None:
    async with live.watch(ALL) as one, live.watch(ALL) as two:
        closing.set()
        await until(one, lambda _batch: one.is_ended)

        assert two.is_ended


async def test_late_commit_is_reported(
    live: Live, recorded: Recorded, database: str, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolecall.service.live.looks.LONGEST_REACH", timedelta(hours=1))
    async with live.watch(ALL) as stream, await connect_async(database, "slow") as slow:
        async with slow.transaction():
            [late] = await enqueue(slow)
            [early] = await enqueue(other)
            await batch_with(stream, early)
            looks = recorded.looks()
            await until_fact(lambda: recorded.looks() >= looks + 3)

        assert late < early
        await batch_with(stream, late)


async def test_transaction_older_than_the_stream_ends_in_a_reload(live: Live, database: str) -> None:
    async with await connect_async(database, "slow") as slow, slow.transaction():
        await enqueue(slow)
        async with live.watch(ALL) as stream:
            assert stream.id is None
            await slow.execute("commit; begin")
            batch = await until(stream, lambda batch: batch.reload is not None)
            assert batch.reload is ReloadReason.LATE
            await until_fact(lambda: stream.id is not None)


async def test_transaction_that_ends_before_the_stream_starts_is_ignored(
    live: Live, recorded: Recorded, database: str
) -> None:
    async with await connect_async(database, "slow") as slow, slow.transaction():
        await enqueue(slow)
        recorded.after_next = slow.execute("commit; begin")
        async with live.watch(ALL) as stream:
            assert stream.id is not None


async def test_transactions_of_other_databases_are_ignored(
    live: Live, postgres_server: TestServer, other: Other
) -> None:
    """Databases are created on this server all the time, each in a transaction."""
    async with await connect_async(postgres_server.dsn("postgres"), "slow") as slow, slow.transaction():
        await slow.execute("select pg_current_xact_id()")
        async with live.watch(ALL) as stream:
            assert stream.id is not None
            await slow.execute("commit; begin")
            [task_id] = await enqueue(other)
            batch = await until(stream, lambda batch: batch.reload is not None or task_id in batch.tasks)

    assert batch.reload is None


async def test_prepared_transaction_of_another_database_is_ignored(live: Live, postgres_server: TestServer) -> None:
    name = uuid4().hex
    async with await connect_async(postgres_server.dsn("postgres"), "slow") as slow:
        await slow.execute(f"begin; select pg_current_xact_id(); prepare transaction '{name}'")
        await slow.execute("select pg_current_xact_id()")  # a later transaction ends, so that snapshots list the first
        try:
            async with live.watch(ALL) as stream:
                assert stream.id is not None
        finally:
            await slow.execute(f"rollback prepared '{name}'")


async def test_more_changes_than_a_page_cause_a_reload(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        await enqueue(other, number=1500)

        assert (await until(stream, lambda batch: batch.reload is not None)).reload is ReloadReason.CROWD


async def test_stream_continues_after_the_database_closed_all_connections(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        await other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
        [task_id] = await enqueue(other)

        await batch_with(stream, task_id)


async def test_watcher_is_notified_of_a_database_outage_and_recovery(live: Live, database: str) -> None:
    async with live.watch(ALL) as stream:
        with outage(database):
            stale = (await until(stream, lambda batch: batch.stale is not None)).stale
            async with live.watch(ALL) as later:
                stale_later = (await later.next(LONG)).stale
        assert (await until(stream, lambda batch: batch.fresh)).stale is None

    assert stale is not None
    assert stale_later is not None
    assert 0 < stale < stale_later


async def test_streams_do_not_need_notifications(recorded: Recorded, closing: asyncio.Event, other: Other) -> None:
    async def refuse() -> Listening:
        raise OSError("no LISTEN here")

    deaf = Watch(recorded, refuse, closing)
    async with deaf.watch(ALL) as stream:
        [task_id] = await enqueue(other)
        await batch_with(stream, task_id)


async def test_role_is_reported_when_its_counts_change(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        await enqueue(other)
        batch = await until(stream, lambda batch: "sums" in batch.roles)

    assert list(batch.roles) == ["sums"]
    assert batch.roles["sums"].ready == 1


async def test_tree_is_reported_immediately_and_when_it_changes(live: Live, other: Other) -> None:
    [root] = await enqueue(other)
    async with live.watch(Subscription(roots=frozenset({root}))) as stream:
        first = await stream.next(LONG)
        assert first.trees[root].activity == "pending"

        await other.execute("select rolecall.cancel(%s)", [[root]])
        batch = await until(stream, lambda batch: root in batch.trees)

    assert batch.trees[root].activity == "idle"


async def test_reconnected_client_receives_the_changes_it_missed(live: Live, other: Other) -> None:
    async with live.watch(ALL) as stream:
        [before] = await enqueue(other)
        position = (await batch_with(stream, before)).id
    [missed] = await enqueue(other)

    async with live.watch(ALL, position) as stream:
        assert missed in (await stream.next(LONG)).tasks


@pytest.mark.parametrize("position", ["1-1", "99999999999999999-1", "nonsense", "1-2-3", "-", f"{10**30}-1"])
async def test_invalid_position_causes_a_reload(live: Live, position: str) -> None:
    async with live.watch(ALL, position) as stream:
        assert (await stream.next(LONG)).reload is ReloadReason.AWAY


async def until_fact(is_it: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(LONG):
        while not is_it():
            await asyncio.sleep(0.05)
