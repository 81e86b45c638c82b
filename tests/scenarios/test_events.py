"""Each event that docs/reference/events.md names happens, on a real database, and reaches a sink of the app."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rolecall import (
    App,
    AsyncClient,
    ContractBroken,
    Event,
    EventType,
    InvalidDeclaration,
    Snooze,
    Worker,
    immediate,
)
from rolecall.db.run import run
from rolecall.sql import claims
from tests.worker.bench import END_LISTENER, LISTENING, PATIENCE, Bench, until

LIST = Path("docs/reference/events.md")
E = EventType


class Kept:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def has(self, kind: EventType, task_id: int | None = None) -> list[Event]:
        return [
            event
            for event in self.events
            if event.type is kind and (task_id is None or (event.task is not None and event.task.id == task_id))
        ]

    async def comes(self, kind: EventType, task_id: int | None = None) -> Event:
        await until(lambda: self.has(kind, task_id))
        return self.has(kind, task_id)[0]

    def of(self, task_id: int) -> list[EventType]:
        """The types of a task's events, in the order in which they came, but for renewed leases: any moment may bring one."""
        events = [event for event in self.events if event.task is not None and event.task.id == task_id]
        return [event.type for event in events if event.type is not E.JOB_ATTEMPT_LEASE_RENEWED]


@pytest.fixture
def sink(bench: Bench) -> Kept:
    kept = Kept()
    bench.app = App("events", sinks=[kept])
    return kept


@asynccontextmanager
async def client_of(bench: Bench) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(bench.dsn, app=bench.app) as client:
        yield client


def test_documented_list_names_each_event_once() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (debug|info|warning|critical) \|", LIST.read_text(), re.MULTILINE)

    levels = {kind: logging.getLevelName(Event(type=kind, at=0).level).lower() for kind in EventType}
    assert rows == [(str(kind), level) for kind, level in levels.items()]


async def test_worker_emits_events_over_its_lifetime(bench: Bench, sink: Kept) -> None:
    async with bench.working(name="postman", roles=("mail",)):
        started = await sink.comes(E.WORKER_STARTED)
    await sink.comes(E.WORKER_STOPPED)

    life = [event.type for event in sink.events if event.worker is not None]
    assert life == [E.WORKER_STARTED, E.WORKER_STOPPING, E.WORKER_STOPPED]
    assert started.worker is not None
    assert started.worker.name == "postman"
    assert started.data == {"roles": ["mail"], "slots": 1}


async def test_worker_that_cannot_start_emits_the_reason(bench: Bench, sink: Kept) -> None:
    async def around(_ctx: Any, go_on: Any) -> Any:
        return await go_on()

    bench.app = App("events", sinks=[sink], requires=[around])

    @bench.app.task
    async def bare() -> None: ...

    with pytest.raises(InvalidDeclaration):
        await Worker(bench.app, bench.dsn).run()

    assert [event.type for event in sink.events] == [E.JOB_TYPE_VALIDATION_ERROR, E.WORKER_ERROR]
    assert "InvalidDeclaration" in str(sink.events[1].error)


async def test_plain_task_emits_events_from_its_creation_to_its_end(bench: Bench, sink: Kept) -> None:
    @bench.app.task(role="mail")
    async def send() -> None: ...

    async with client_of(bench) as client, bench.working(name="postman"):
        task = await client.enqueue(send, key="store:4")
        completed = await sink.comes(E.CHAIN_COMPLETED)

    assert sink.of(task.id) == [
        E.JOB_CREATED,
        E.CHAIN_CREATED,
        E.JOB_ATTEMPT_STARTED,
        E.JOB_ATTEMPT_COMPLETED,
        E.JOB_COMPLETED,
        E.CHAIN_COMPLETED,
    ]
    [attempt] = sink.has(E.JOB_ATTEMPT_COMPLETED)
    [job] = sink.has(E.JOB_COMPLETED)
    assert 0 < (attempt.seconds or 0) <= (job.seconds or 0) <= (completed.seconds or 0)
    facts = attempt.task
    assert facts is not None
    assert (facts.role, facts.handler, facts.attempt, facts.key) == ("mail", "send", 1, "store:4")
    assert attempt.worker is not None
    assert attempt.worker.name == "postman"


async def test_longer_chain_emits_events_from_its_first_task_on(bench: Bench, sink: Kept) -> None:
    @bench.app.task
    async def last() -> None: ...

    @bench.app.task
    async def first(ctx: Any) -> None:
        ctx.continue_with(last.task())

    (chain_id,) = bench.enqueue(first.task())
    async with bench.working():
        ended = await sink.comes(E.CHAIN_COMPLETED)

    [short, long] = sink.has(E.JOB_COMPLETED)
    assert ended.task is not None
    assert ended.task.chain_id == chain_id
    assert (short.task and short.task.handler, long.task and long.task.handler) == ("first", "last")
    assert (ended.seconds or 0) >= (long.seconds or 0)
    assert len(sink.has(E.CHAIN_COMPLETED)) == 1


async def test_last_failure_ends_task_and_chain(bench: Bench, sink: Kept) -> None:
    @bench.app.task(max_attempts=2, retry=immediate())
    async def broken() -> None:
        raise ValueError("no")

    (task_id,) = bench.enqueue(broken.task())
    async with bench.working():
        failed = await sink.comes(E.CHAIN_FAILED)

    ends = [kind for kind in sink.of(task_id) if kind is not E.JOB_ATTEMPT_STARTED]
    assert ends == [E.JOB_ATTEMPT_FAILED, E.JOB_ATTEMPT_FAILED, E.JOB_FAILED, E.CHAIN_FAILED]
    assert str(failed.error).startswith("ValueError: no")


async def test_children_and_needs_emit_events(bench: Bench, sink: Kept) -> None:
    @bench.app.task
    async def child() -> None: ...

    @bench.app.task
    async def parent(ctx: Any) -> None:
        ctx.spawn(child.task())

    async with client_of(bench) as client:
        first = await client.enqueue(parent)
        second = await client.enqueue(child, needs=[first])
        async with bench.working():
            await bench.finished(first.id, second.id)
            await sink.comes(E.JOB_COMPLETED, second.id)

    assert [kind for kind in sink.of(first.id) if kind.startswith("job_")] == [
        E.JOB_CREATED,
        E.JOB_ATTEMPT_STARTED,
        E.JOB_ATTEMPT_COMPLETED,
        E.JOB_WAITING,
        E.JOB_COMPLETED,
    ]
    assert sink.of(second.id)[:3] == [E.JOB_CREATED, E.CHAIN_CREATED, E.JOB_BLOCKED]
    assert sink.has(E.JOB_UNBLOCKED, second.id)


async def test_snooze_and_release_end_an_attempt(bench: Bench, sink: Kept) -> None:
    begun = asyncio.Event()

    @bench.app.task
    async def tired() -> Snooze:
        return Snooze(3600)

    @bench.app.task
    async def endless() -> None:
        begun.set()
        await asyncio.sleep(PATIENCE)

    slept, stopped = bench.enqueue(tired.task(), endless.task())
    async with bench.working(grace=0):
        await asyncio.wait_for(begun.wait(), PATIENCE)
        await sink.comes(E.JOB_ATTEMPT_SNOOZED, slept)

    returned = await sink.comes(E.JOB_ATTEMPT_RETURNED, stopped)
    assert returned.data == {"outcome": "released"}


async def test_attempt_whose_result_is_rejected_by_content_is_reported_as_failed(bench: Bench, sink: Kept) -> None:
    @bench.app.task(max_attempts=1)
    async def send() -> None: ...

    (task_id,) = bench.enqueue(send.task())
    bench.connection.execute(
        b"create function refuse() returns trigger language plpgsql"
        b" as $$ begin raise exception 'no' using errcode = 'RC040'; end $$;"
        b"create trigger refuse before insert on rolecall.finished_tasks for each row"
        b" when (new.state = 'completed') execute function refuse()"
    )
    async with bench.working():
        await sink.comes(E.JOB_FAILED, task_id)

    assert bench.ask("select state::text from rolecall.finished_tasks where id = %s", task_id) == "failed"


async def test_client_calls_emit_events(bench: Bench, sink: Kept) -> None:
    @bench.app.task
    async def later() -> None: ...

    async with client_of(bench) as client:
        task = await client.enqueue(later, after=timedelta(hours=1))
        await client.trigger(task.id)
        await client.cancel(task.id)
        await client.retry(task.id)
        await client.complete(task.id)
        await client.delete_chains(task.id)

    deleted = await sink.comes(E.CHAIN_DELETED)
    assert sink.of(task.id) == [
        E.JOB_CREATED,
        E.CHAIN_CREATED,
        E.JOB_TRIGGERED,
        E.JOB_CANCELLED,
        E.CHAIN_CANCELLED,
        E.JOB_RETRIED,
        E.JOB_COMPLETED,
        E.CHAIN_COMPLETED,
    ]
    assert deleted.task is not None
    assert deleted.task.chain_id == task.id


async def test_uncommitted_change_in_a_callers_transaction_emits_no_event(bench: Bench, sink: Kept) -> None:
    @bench.app.task
    async def later() -> None: ...

    async with client_of(bench) as client:
        async with await psycopg.AsyncConnection.connect(bench.dsn) as connection:
            await client.enqueue(later, connection=connection)
        kept = await client.enqueue(later)
        await sink.comes(E.CHAIN_CREATED)

    assert {event.task.id for event in sink.events if event.task} == {kept.id}


async def test_events_of_a_client_transaction_are_emitted_after_its_commit(bench: Bench, sink: Kept) -> None:
    @bench.app.task
    async def later() -> None: ...

    async with client_of(bench) as client:
        async with client.transaction() as connection:
            async with connection.transaction(force_rollback=True):
                await client.enqueue(later, connection=connection)
            kept = await client.enqueue(later, connection=connection)
            bench.app.emitter.flush()
            assert sink.events == []
        await sink.comes(E.CHAIN_CREATED)

    assert {event.task.id for event in sink.events if event.task} == {kept.id}


async def test_rescue_is_emitted_by_the_rescuing_process(bench: Bench, sink: Kept) -> None:
    @bench.app.task
    async def slow() -> None: ...

    (task_id,) = bench.enqueue(slow.task())
    silent = bench.ask("select rolecall.register_worker('silent', '{}', '{slow}', 1, 'far', 1, '0')")
    run(bench.connection, claims.claim(silent, (), ("slow",), 1))
    bench.ask("update rolecall.tasks set lease_until = claimed_at where id = %s returning 1", task_id)
    bench.ask("update rolecall.server_epoch set seen_at = seen_at - interval '1 hour' returning 1")
    async with bench.working(maintenance=True):
        reaped = await sink.comes(E.JOB_REAPED, task_id)
        await bench.finished(task_id)

    assert reaped.task is not None
    assert reaped.task.attempt == 1


@pytest.mark.parametrize(
    ("ended_by", "kind"),
    [
        ("update rolecall.tasks set fence = fence + 1", E.JOB_ATTEMPT_TAKEN_BY_ANOTHER_WORKER),
        ("select rolecall.complete_task(%s, null, null)", E.JOB_ATTEMPT_ALREADY_COMPLETED),
    ],
)
async def test_late_outcome_emits_an_event(bench: Bench, sink: Kept, ended_by: str, kind: EventType) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @bench.app.task
    async def waits() -> None:
        begun.set()
        await go_on.wait()

    (task_id,) = bench.enqueue(waits.task())
    async with bench.working():
        await asyncio.wait_for(begun.wait(), PATIENCE)
        bench.connection.execute(ended_by.encode(), [task_id] if "%s" in ended_by else None)
        go_on.set()
        await sink.comes(kind, task_id)


async def test_lease_renewal_and_expiry_emit_events(bench: Bench, sink: Kept) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @bench.app.task(lease=1)
    async def slow() -> None:
        begun.set()
        await go_on.wait()

    (task_id,) = bench.enqueue(slow.task())
    async with bench.working():
        await asyncio.wait_for(begun.wait(), PATIENCE)
        await sink.comes(E.JOB_ATTEMPT_LEASE_RENEWED, task_id)
        with bench.connection.transaction():
            bench.connection.execute(b"lock table rolecall.tasks in access exclusive mode")
            await asyncio.sleep(1.2)
        await sink.comes(E.JOB_ATTEMPT_LEASE_EXPIRED, task_id)
        go_on.set()


async def test_failing_adapters_emit_events(bench: Bench, sink: Kept) -> None:
    async with bench.working():
        await until(lambda: bench.ask(LISTENING) == 1)
        bench.ask(END_LISTENER)
        await sink.comes(E.NOTIFY_ADAPTER_ERROR)
        bench.ask(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            " where datname = current_database() and application_name like 'rolecall:worker:claim:%%'"
        )
        bench.enqueue()
        await sink.comes(E.STATE_ADAPTER_ERROR)


async def test_contract_violation_is_emitted_by_client_and_worker(bench: Bench, sink: Kept) -> None:
    @bench.app.task(max_attempts=1)
    async def add(n: int) -> int:
        return "three"  # type: ignore[return-value]

    async with client_of(bench) as client:
        with pytest.raises(ContractBroken):
            await client.enqueue(add, {"n": "x"})
        by_client = await sink.comes(E.JOB_TYPE_VALIDATION_ERROR)
        assert by_client.task is not None
        assert by_client.task.handler == "add"
        task = await client.enqueue(add, {"n": 1})
        async with bench.working():
            await sink.comes(E.JOB_TYPE_VALIDATION_ERROR, task.id)


def test_each_event_type_is_covered_in_this_file() -> None:
    shown = set(re.findall(r"E\.([A-Z_]+)", Path(__file__).read_text()))

    assert shown == {kind.name for kind in EventType}


class Raising:
    def emit(self, event: Event) -> None:
        raise RuntimeError("no disk")


class Hanging:
    def __init__(self) -> None:
        self.let_go = threading.Event()

    def emit(self, event: Event) -> None:
        self.let_go.wait()


async def test_raising_or_hanging_sink_does_not_affect_any_task(bench: Bench) -> None:
    hanging = Hanging()
    bench.app = App("events", sinks=[Raising(), hanging])

    @bench.app.task
    async def send() -> None: ...

    ids = bench.enqueue(*(send.task() for _ in range(200)))
    async with bench.working():
        done = await bench.finished(*ids)
        hanging.let_go.set()

    assert {task.state for task in done} == {"completed"}
