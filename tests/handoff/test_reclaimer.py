"""Repairs by the reclaimer, on a real Redis and a real Postgres."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable

import psycopg
import pytest

from rolecall import NewTask
from rolecall.db.run import run
from rolecall.handoff.lanes import Band, Lane, Message
from rolecall.handoff.lists import ListQueue
from rolecall.handoff.queues import HandoffQueue
from rolecall.handoff.reclaimer import Reclaimer
from rolecall.handoff.roll import note_roles
from rolecall.handoff.streams import StreamQueue
from rolecall.sql import claims
from rolecall.transport.brokers import RedisLink
from rolecall.worker.session import DatabaseSession, DatabaseSessions
from tests.worker.bench import Bench

MAIL = Lane(Band.LOW, "mail")
KINDS: dict[str, Callable[[RedisLink, str], HandoffQueue]] = {"streams": StreamQueue, "lists": ListQueue}
SERVER_IS_OLD = "update rolecall.server_epoch set seen_at = now() - interval '1 day'"


@pytest.fixture
async def session(bench: Bench) -> AsyncIterator[DatabaseSession]:
    session = DatabaseSessions(bench.dsn, deadline=5).open("test")
    yield session
    await session.close()


@pytest.fixture(params=KINDS)
def queue(request: pytest.FixtureRequest, link: RedisLink) -> HandoffQueue:
    return KINDS[request.param](link, "one")


async def reclaim(link: RedisLink, queue: HandoffQueue, session: DatabaseSession) -> None:
    """Reclaim taken messages of any age."""
    await note_roles(link, ["mail"])
    await Reclaimer(link, queue, session, stale_after=0, lost_after=0).run_once()


def stored(bench: Bench, number: int) -> list[int]:
    @bench.app.task(role="mail")
    async def send() -> None: ...

    return bench.enqueue(*(NewTask(handler="send") for _ in range(number)))


def claimed(bench: Bench, worker_id: int) -> int:
    """Claim one task for some worker."""
    (task,) = run(bench.connection, claims.claim(worker_id, [], ["send"], 1))
    return task.id


def on_the_roll(bench: Bench, sessions: str) -> int:
    """Register a worker whose sessions would have this name."""
    query = (
        "insert into rolecall.workers (name, roles, handlers, slots, host, pid, version, started_at, heartbeat_at,"
        " sessions) values ('w', '{}', '{send}', 1, 'h', 1, '0', now(), now(), %s) returning id"
    )
    return int(bench.ask(query, sessions))


async def test_unstarted_entries_are_taken_next_in_their_original_order(
    bench: Bench, link: RedisLink, queue: HandoffQueue, session: DatabaseSession
) -> None:
    ids = stored(bench, 3)
    await queue.push(MAIL, [Message(task_id=each) for each in ids], 9, 9)
    await queue.take([MAIL], 2)
    await reclaim(link, queue, session)
    assert [entry.task_id for entry in await queue.take([MAIL], 9)] == ids


async def test_entries_of_running_tasks_are_kept_and_of_finished_tasks_removed(
    bench: Bench, link: RedisLink, queue: HandoffQueue, session: DatabaseSession
) -> None:
    stored(bench, 1)
    running = claimed(bench, 7)
    await queue.push(MAIL, [Message(task_id=running), Message(task_id=10**9)], 9, 9)
    await queue.take([MAIL], 9)
    await reclaim(link, queue, session)
    assert [entry.task_id for entry in await queue.stale(MAIL, 0)] == [running]
    assert await link.call("GET", "rolecall:reclaimed") == b"1"


async def test_only_pending_tasks_stay_in_a_lane_that_no_worker_reads(
    bench: Bench, link: RedisLink, queue: HandoffQueue, session: DatabaseSession
) -> None:
    ids = stored(bench, 4)
    running = claimed(bench, 7)
    await queue.push(MAIL, [Message(task_id=each) for each in [10**9, *ids]], 9, 9)
    await reclaim(link, queue, session)
    (length,) = await queue.lengths([MAIL])
    assert (length.waiting, length.taken) == (3, 0)
    assert [entry.task_id for entry in await queue.take([MAIL], 9)] == [each for each in ids if each != running]


async def test_lane_with_a_reader_keeps_its_entries(bench: Bench, link: RedisLink, session: DatabaseSession) -> None:
    queue = StreamQueue(link, "one")
    await link.call("HSET", "rolecall:workers", "reader", json.dumps({"number": 1, "room": 1, "roles": ["mail"]}))
    await link.call("SET", "worker:reader:heartbeat", "alive")
    await queue.push(MAIL, [Message(task_id=10**9)], 9, 9)
    await reclaim(link, queue, session)
    (length,) = await queue.lengths([MAIL])
    assert length.waiting == 1


async def test_invalid_message_is_removed_and_logged(
    bench: Bench, link: RedisLink, session: DatabaseSession, caplog: pytest.LogCaptureFixture
) -> None:
    queue = ListQueue(link, "one")
    await link.call("RPUSH", MAIL.key(), "{not json")
    await queue.take([MAIL], 1)
    with caplog.at_level(logging.WARNING):
        await reclaim(link, queue, session)
    assert "an invalid message of role mail: b'{not json'" in caplog.text
    assert not await link.call("EXISTS", MAIL.key("processing:one"))


@pytest.mark.parametrize(("idempotent", "state"), [(True, "pending"), (False, "running")])
async def test_silent_worker_without_a_session_loses_only_idempotent_tasks(
    bench: Bench, link: RedisLink, queue: HandoffQueue, session: DatabaseSession, *, idempotent: bool, state: str
) -> None:
    """It may be cut off from both servers, and still run its handlers."""
    bench.app.role("mail", idempotent=idempotent)
    bench.connection.execute(SERVER_IS_OLD)
    stored(bench, 1)
    dead = on_the_roll(bench, "nobody")
    task_id = claimed(bench, dead)
    await link.call("HSET", "rolecall:workers", "ghost", json.dumps({"number": dead, "room": 1}))
    await reclaim(link, queue, session)
    assert bench.task(task_id).state == state
    assert not await link.call("EXISTS", "rolecall:workers")


@pytest.mark.parametrize("heartbeat", [True, False])
async def test_worker_with_a_heartbeat_or_a_session_keeps_its_tasks(
    bench: Bench, link: RedisLink, session: DatabaseSession, *, heartbeat: bool
) -> None:
    bench.connection.execute(SERVER_IS_OLD)
    stored(bench, 1)
    alive = on_the_roll(bench, "nobody" if heartbeat else "abcdef")
    task_id = claimed(bench, alive)
    await link.call("HSET", "rolecall:workers", "ghost", json.dumps({"number": alive, "room": 1}))
    if heartbeat:
        await link.call("SET", "worker:ghost:heartbeat", "alive", "EX", 10)
    with psycopg.connect(bench.dsn, application_name="rolecall:worker:claim:abcdef"):
        await reclaim(link, StreamQueue(link, "one"), session)
    assert bench.task(task_id).state == "running"
