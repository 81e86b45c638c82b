"""A worker is defined by its declaration: an app, options, and exceptions for single handlers."""

from __future__ import annotations

import asyncio
import logging

import pytest

from rolecall import App, AsyncClient, Client, Context, NewTask, RetryPolicy, TaskState, Worker, WorkerOptions, linear
from tests.worker.bench import BEATEN, PATIENCE, Bench, until


async def test_clients_and_workers_run_independently(bench: Bench) -> None:
    """A task waits for a worker that starts after the client has exited."""

    @bench.app.task
    async def greet(name: str) -> str:
        return f"hello {name}"

    async with AsyncClient(bench.dsn, app=bench.app) as client:
        task_id = (await client.enqueue(greet, {"name": "you"})).id
    async with bench.working():
        await bench.finished(task_id)
    with Client(bench.dsn) as reader:
        assert reader.get(task_id).result == "hello you"


async def test_declared_worker_starts_and_stops(bench: Bench) -> None:
    app = App("declared")
    app.task("work")(lambda: "done")
    worker = Worker(app, bench.dsn, WorkerOptions(name="number one", roles=("work",), slots=2, maintenance=False))
    running = asyncio.create_task(worker.run())

    await until(lambda: bench.ask("select name from rolecall.workers") == "number one")
    worker.stop()
    await asyncio.wait_for(running, PATIENCE)

    assert worker.stopping


async def test_worker_declares_and_enforces_key_capacity(bench: Bench) -> None:
    running = 0
    most = 0

    @bench.app.task
    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        while most < 3:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        running -= 1

    bench.app.keys("tenant:*", capacity=3)
    ids = bench.enqueue(*(work.task().options(key="tenant:7") for _ in range(30)))
    async with bench.working(slots=10):
        await bench.finished(*ids)

    assert most == 3


async def test_worker_serves_every_handler_by_priority(bench: Bench) -> None:
    order: list[str] = []

    def define(name: str) -> NewTask:
        handler = bench.app.task(name)(lambda: order.append(name))
        return handler.task()

    tasks = [define(name).options(priority=priority) for name, priority in (("b", 5), ("c", 1), ("a", 9))]
    ids = bench.enqueue(*tasks, tasks[0].options(priority=7))
    async with bench.working(slots=1, prefetch=0):
        await bench.finished(*ids)

    assert order == ["a", "b", "b", "c"]


async def test_handler_settings_override_role_settings(bench: Bench) -> None:
    bench.app.role("lane", lease=60, retry=waiting(500))
    leases: dict[str, float] = {}

    def define(name: str, lease: float | None = None, retry: RetryPolicy | None = None) -> NewTask:
        @bench.app.task(name, role="lane", lease=lease, retry=retry)
        async def work(ctx: Context) -> None:
            leases[ctx.handler] = ctx.task.lease_seconds
            raise OSError("later")

        return work.task()

    ids = bench.enqueue(define("plain"), define("own", 33, waiting(5000)))
    async with bench.working():
        await until(lambda: all(bench.task(task_id).status == "retrying" for task_id in ids))

    tasks = [bench.task(task_id) for task_id in ids]
    delays = [(task.scheduled_for - task.created_at).total_seconds() for task in tasks]
    assert leases == {"plain": 60, "own": 33}
    assert delays == [pytest.approx(500, abs=60), pytest.approx(5000, abs=60)]


def waiting(seconds: float) -> RetryPolicy:
    return linear(step=seconds, cap=seconds)


async def test_task_of_an_unknown_handler_stays_unchanged(bench: Bench) -> None:
    bench.app.task("here", role="there")(lambda: None)

    stays, done = bench.enqueue(NewTask(handler="there", role="there"), NewTask(handler="here"))
    async with bench.working():
        await bench.finished(done)

    task = bench.task(stays)
    assert (task.state, task.attempt, task.error) == (TaskState.PENDING, 0, None)


async def test_worker_logs_its_start_and_its_stop(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rolecall.worker"):
        async with bench.working(name="resync-1"):
            await until(lambda: bench.ask(BEATEN))
        worker_id = bench.ask("select max(id) from rolecall.workers")

    logged = [record.getMessage() for record in caplog.records]
    assert logged[0] == f"Starting worker resync-1 (number {worker_id}) for role: all (slots: 1)"
    assert logged[-1] == f"Worker resync-1 (number {worker_id}) has stopped"
