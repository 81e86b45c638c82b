"""Commands to a running worker: drain, decommission, resume, and the pause of a role."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from rolecall.db.run import run
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.model.workers import WorkerCommand
from rolecall.sql import insight, roles, workers
from tests.worker.bench import END_LISTENER, LISTENING, Bench, until

ONLY = "select id from rolecall.workers where stopped_at is null"


def tell(bench: Bench, command: WorkerCommand | None) -> None:
    run(bench.connection, workers.command(bench.ask(ONLY), command))


def roll(bench: Bench) -> RegisteredWorker:
    [worker] = run(bench.connection, insight.workers())
    return worker


def follows(bench: Bench, command: WorkerCommand | None) -> bool:
    return roll(bench).following is command


async def test_drained_worker_finishes_running_tasks_claims_no_more_and_stays_up(bench: Bench) -> None:
    """Commands arrive by notification, long before the next heartbeat."""
    enough = asyncio.Event()

    @bench.app.task
    async def work() -> None:
        await enough.wait()

    first, second = bench.enqueue(work.task(), work.task())
    async with bench.working(heartbeat_interval=60):
        await bench.state(first, "running")
        await until(lambda: bench.ask(LISTENING))
        tell(bench, WorkerCommand.DRAIN)
        await until(lambda: roll(bench).following)
        enough.set()
        await bench.finished(first)
        await until(lambda: roll(bench).state == "drained")
        assert bench.task(second).state == "pending"

        tell(bench, None)
        await bench.finished(second)


async def test_command_without_notifications_arrives_with_the_next_heartbeat(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(listen=False, heartbeat_interval=0.1, poll_interval=0.05):
        await until(lambda: bench.ask("select idle from rolecall.all_workers"))
        tell(bench, WorkerCommand.DRAIN)
        await until(lambda: not bench.ask("select idle from rolecall.all_workers"))
        (task_id,) = bench.enqueue(work.task())
        tell(bench, None)
        await bench.finished(task_id)


async def test_command_sent_while_the_listener_was_down_arrives_when_it_reconnects(bench: Bench) -> None:
    async with bench.working(heartbeat_interval=300):
        await until(lambda: bench.ask(LISTENING))
        with bench.connection.transaction():
            bench.ask(END_LISTENER)
            tell(bench, WorkerCommand.DRAIN)
        await until(lambda: roll(bench).following)


async def test_drained_worker_returns_tasks_that_have_not_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefetched tasks are returned without spending an attempt."""
    monkeypatch.setattr("rolecall.worker.producer.STALE_AFTER", 3600)
    enough = asyncio.Event()

    @bench.app.task
    async def work(n: int) -> None:
        if n == 40:
            await enough.wait()

    ids = bench.enqueue(*(work.task(n=n) for n in range(80)))
    async with bench.working():
        await until(lambda: bench.ask("select count(*) from rolecall.finished_tasks") == 40)
        await until(lambda: bench.ask(LISTENING))
        tell(bench, WorkerCommand.DRAIN)
        await until(lambda: bench.ask("select count(*) from rolecall.tasks where state = 'pending'") == 39)
        enough.set()
        await bench.finished(ids[40])

    assert {bench.task(task_id).attempt for task_id in ids[41:]} == {0}


async def test_decommissioned_worker_exits_once_its_running_tasks_have_finished(bench: Bench) -> None:
    """Decommissioning has no grace period: the tasks may take as long as they need."""
    enough = asyncio.Event()

    @bench.app.task
    async def work() -> None:
        await enough.wait()

    (task_id,) = bench.enqueue(work.task())
    async with bench.working(grace=0.0) as worker:
        await bench.state(task_id, "running")
        await until(lambda: bench.ask(LISTENING))
        tell(bench, WorkerCommand.DECOMMISSION)
        await until(lambda: roll(bench).state == "leaving")
        assert not worker.stopping
        enough.set()
        await until(lambda: roll(bench).state == "stopped")

    assert bench.task(task_id).state == "completed"


async def test_decommissioned_worker_can_be_ordered_to_stay(bench: Bench) -> None:
    enough = asyncio.Event()

    @bench.app.task
    async def work() -> None:
        await enough.wait()

    first, second = bench.enqueue(work.task(), work.task())
    async with bench.working(heartbeat_interval=0.1) as worker:
        await bench.state(first, "running")
        for command in (WorkerCommand.DECOMMISSION, None):
            tell(bench, command)
            await until(partial(follows, bench, command))
        enough.set()
        await bench.finished(first, second)
        assert not worker.stopping


async def test_pause_lets_running_tasks_finish_and_starts_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefetched tasks do not start either."""
    monkeypatch.setattr("rolecall.worker.producer.STALE_AFTER", 3600)
    enough = asyncio.Event()

    @bench.app.task(role="mail")
    async def send(n: int) -> None:
        if n == 20:
            await enough.wait()

    @bench.app.task(role="other")
    async def go_on() -> None: ...

    ids = bench.enqueue(*(send.task(n=n) for n in range(60)))
    async with bench.working():
        await until(lambda: bench.ask("select count(*) from rolecall.finished_tasks") == 20)
        await until(lambda: bench.ask(LISTENING))
        run(bench.connection, roles.pause("mail", None, "ada"))
        await until(lambda: bench.ask("select count(*) from rolecall.tasks where state = 'pending'") == 39)
        enough.set()
        await bench.finished(ids[20], *bench.enqueue(go_on.task()))
        assert bench.ask("select count(*) from rolecall.finished_tasks where state = 'completed'") == 22

        run(bench.connection, roles.resume("mail"))
        await bench.finished(*ids)
