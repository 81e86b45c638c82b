"""A handler that blocks its worker's loop delays only itself, and not past its deadline."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest

from rolecall import Context, Worker, WorkerOptions, immediate
from tests.worker.bench import PATIENCE, Bench, until

LEASE = 0.3
HELD_BACK = "select count(*) from rolecall.tasks where state = 'running' and started_at is null"
UNFINISHED = "select count(*) from rolecall.tasks where id = any(%s)"
UP_FOR_LONG = "update rolecall.server_epoch set seen_at = seen_at - interval '1 h' returning 1"


@contextmanager
def worker_with_a_loop_of_its_own(bench: Bench) -> Iterator[None]:
    """Run a worker in a thread, whose handlers block its loop and not the test's."""
    worker = Worker(bench.app, bench.dsn, WorkerOptions(name="blocked", maintenance=False))
    thread = threading.Thread(target=asyncio.run, args=(worker.run(),))
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


async def test_tasks_behind_a_blocked_loop_are_returned(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    blocking, release = threading.Event(), threading.Event()

    @bench.app.task(lease=2.0)
    async def quick(n: int) -> None: ...

    @bench.app.task
    async def rude() -> None:
        blocking.set()
        release.wait(2 * PATIENCE)

    before = [quick.task(n=n) for n in range(2_000)]
    after = [quick.task(n=n) for n in range(500)]
    bench.enqueue(*before)
    (rude_id,) = bench.enqueue(rude.task())
    behind = bench.enqueue(*after)

    with caplog.at_level(logging.WARNING, "rolecall.worker"), worker_with_a_loop_of_its_own(bench):
        try:
            await until(blocking.is_set)
            assert bench.ask(HELD_BACK), "no task waits behind it, so the test proves nothing"
            async with bench.working(name="idle"):
                # The blocked loop cannot return a claim whose answer it has not read: a rescue releases it.
                await until(lambda: [bench.rescue(), bench.ask(UNFINISHED, behind)][1] == 0)
            assert bench.task(rude_id).state == "running"
        finally:
            release.set()
        (task,) = await bench.finished(rude_id)

    assert "tasks are returned before their start" in caplog.text
    assert (task.state, task.attempt) == ("completed", 1)
    assert bench.ask("select max(attempt) from rolecall.finished_tasks") == 1


@pytest.mark.parametrize("lease", [LEASE, 60])
async def test_handler_blocking_its_loop_past_its_timeout_loses_its_task(bench: Bench, lease: float) -> None:
    release = threading.Event()
    leases: list[tuple[datetime | None, datetime | None]] = []

    @bench.app.task(lease=lease, timeout=3, retry=immediate())
    async def rude(ctx: Context) -> str:
        if ctx.attempt == 1:
            release.wait(PATIENCE)
        return f"attempt {ctx.attempt}"

    (task_id,) = bench.enqueue(rude.task())
    bench.ask(UP_FOR_LONG)

    with worker_with_a_loop_of_its_own(bench):
        try:
            held = await bench.state(task_id, "running")
            await until(bench.rescue)
            leases.append((held.lease_until, held.deadline_at))
            async with bench.working(name="idle"):
                (task,) = await bench.finished(task_id)
        finally:
            release.set()

    assert [lease <= deadline for lease, deadline in leases if lease and deadline] == [True]
    assert (bench.task(task_id).result, task.attempt) == ("attempt 2", 2)
