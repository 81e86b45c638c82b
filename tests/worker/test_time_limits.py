"""Timeouts of handlers and of single tasks, which the worker enforces even without the database."""

from __future__ import annotations

import asyncio
import time

from rolecall import Context, HandlerAborted, LostReason, immediate
from tests.worker.bench import Bench, until
from tests.worker.silence import silence

LEASE = 0.8
EVENTS = "select array_agg(kind order by at) from rolecall.task_events where task_id = %s"


async def test_async_handler_over_its_timeout_is_cancelled_and_retried(bench: Bench) -> None:
    result: list[LostReason | None] = []

    @bench.app.task(lease=60, timeout=0.3, max_attempts=2, retry=immediate())
    async def slow(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            result.append(ctx.aborted)

    (task_id,) = bench.enqueue(slow.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert result == [LostReason.TIMEOUT] * 2
    assert (task.state, task.attempt, bench.ask(EVENTS, task_id)) == ("failed", 2, ["timeout", "timeout"])


async def test_threaded_handler_over_its_timeout_is_aborted_by_check_and_retried(bench: Bench) -> None:
    result: list[tuple[LostReason, LostReason | None]] = []

    @bench.app.task(lease=60, timeout=0.3, max_attempts=2, retry=immediate())
    def slow(ctx: Context) -> None:
        try:
            for _ in range(6_000):
                ctx.check()
                time.sleep(0.01)
        except HandlerAborted as aborted:
            result.append((aborted.reason, ctx.aborted))
            raise

    (task_id,) = bench.enqueue(slow.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert result == [(LostReason.TIMEOUT, LostReason.TIMEOUT)] * 2
    assert (task.state, task.attempt, bench.ask(EVENTS, task_id)) == ("failed", 2, ["timeout", "timeout"])


async def test_task_timeout_overrides_the_handler_timeout(bench: Bench) -> None:

    @bench.app.task(lease=60, timeout=3600, max_attempts=1)
    async def slow() -> None:
        await asyncio.sleep(60)

    (task_id,) = bench.enqueue(slow.task().options(timeout=0.3))

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "failed"
    assert "did not finish within 0.3 s" in (task.error or "")


async def test_timeout_applies_while_the_database_is_unresponsive(bench: Bench) -> None:
    result: list[LostReason | None] = []

    @bench.app.task(lease=0.8, timeout=1.5, max_attempts=1)
    async def slow(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            result.append(ctx.aborted)

    (task_id,) = bench.enqueue(slow.task())

    async with bench.working():
        await bench.state(task_id, "running")
        with silence(bench):
            await until(lambda: result)
        (task,) = await bench.finished(task_id)

    assert result == [LostReason.TIMEOUT]
    assert (task.state, bench.ask(EVENTS, task_id)) == ("failed", ["timeout"])
