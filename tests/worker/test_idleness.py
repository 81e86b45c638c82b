"""A worker with `until idle` exits when no work is left, and not before."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from rolecall import Context, Worker, WorkerOptions, immediate
from rolecall.worker import idleness
from tests.worker.bench import PATIENCE, Bench

UNTIL_IDLE = WorkerOptions(slots=2, until_idle=True, poll_interval=0.2, maintenance=False)


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idleness, "BETWEEN_LOOKS", 0.1)


async def run(bench: Bench, options: WorkerOptions = UNTIL_IDLE) -> None:
    async with asyncio.timeout(PATIENCE):
        await Worker(bench.app, bench.dsn, options).run()


def counts(bench: Bench) -> list[tuple[str, str, int]]:
    return bench.connection.execute("select * from rolecall.counts()").fetchall()


async def test_until_idle_worker_exits_after_all_follow_ups_and_retries(bench: Bench) -> None:
    attempts: list[int] = []

    @bench.app.task
    async def last(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            raise ValueError("not yet")

    @bench.app.task
    async def first(ctx: Context) -> None:
        await asyncio.sleep(0.5)
        ctx.follow_up(last.task())

    bench.app.role("last", retry=immediate())
    bench.enqueue(first.task())

    await run(bench)

    assert attempts == [1, 2]
    assert counts(bench) == [("first", "completed", 1), ("last", "completed", 1)]


async def test_until_idle_worker_exits_immediately_if_only_scheduled_tasks_remain(bench: Bench) -> None:
    @bench.app.task
    async def later() -> None: ...

    [task_id] = bench.enqueue(later.task().options(after=3_600))

    await run(bench)

    assert bench.task(task_id).state == "pending"


async def test_slots_of_roles_wait_for_each_other_before_exiting(bench: Bench) -> None:
    @bench.app.task
    async def second() -> None: ...

    @bench.app.task
    async def first(ctx: Context) -> None:
        await asyncio.sleep(1.0)
        ctx.follow_up(second.task())

    bench.enqueue(first.task())

    await run(bench, replace(UNTIL_IDLE, slots={"first": 1, "second": 1}))

    assert counts(bench) == [("first", "completed", 1), ("second", "completed", 1)]
