"""Timeouts of handlers and of single tasks, kept by the worker whether the database answers or not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from psycopg.conninfo import make_conninfo

from rolecall import Context, HandlerAborted, LostReason, immediate
from rolecall.db.connect import connect
from tests.worker.bench import Bench, until

LEASE = 0.8
EVENTS = "select array_agg(kind order by at) from rolecall.task_events where task_id = %s"
TERMINATE = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:worker:%%'
"""


@contextmanager
def silence(bench: Bench) -> Iterator[None]:
    """Let the database answer no worker for the block."""
    name = bench.connection.info.dbname
    with connect(make_conninfo(bench.dsn, dbname="postgres"), "doorman") as doorman:
        doorman.execute(f'alter database "{name}" allow_connections false'.encode())
        bench.ask(TERMINATE)
        try:
            yield
        finally:
            doorman.execute(f'alter database "{name}" allow_connections true'.encode())


async def test_an_async_handler_over_its_timeout_is_cancelled_and_tried_again(bench: Bench) -> None:
    told: list[LostReason | None] = []

    @bench.app.task(lease=60, timeout=0.3, max_attempts=2, retry=immediate())
    async def slow(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            told.append(ctx.aborted)

    (task_id,) = bench.enqueue(slow.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert told == [LostReason.TIMEOUT] * 2
    assert (task.state, task.attempt, bench.ask(EVENTS, task_id)) == ("failed", 2, ["timeout", "timeout"])


async def test_a_handler_in_a_thread_is_told_by_check_and_tried_again(bench: Bench) -> None:
    told: list[tuple[LostReason, LostReason | None]] = []

    @bench.app.task(lease=60, timeout=0.3, max_attempts=2, retry=immediate())
    def slow(ctx: Context) -> None:
        try:
            for _ in range(6_000):
                ctx.check()
                time.sleep(0.01)
        except HandlerAborted as aborted:
            told.append((aborted.reason, ctx.aborted))
            raise

    (task_id,) = bench.enqueue(slow.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert told == [(LostReason.TIMEOUT, LostReason.TIMEOUT)] * 2
    assert (task.state, task.attempt, bench.ask(EVENTS, task_id)) == ("failed", 2, ["timeout", "timeout"])


async def test_a_task_brings_its_own_timeout(bench: Bench) -> None:

    @bench.app.task(lease=60, timeout=3600, max_attempts=1)
    async def slow() -> None:
        await asyncio.sleep(60)

    (task_id,) = bench.enqueue(slow.task().options(timeout=0.3))

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "failed"
    assert "did not finish within 0.3 s" in (task.error or "")


async def test_a_timeout_counts_while_the_database_is_silent(bench: Bench) -> None:
    told: list[LostReason | None] = []

    @bench.app.task(lease=0.8, timeout=1.5, max_attempts=1)
    async def slow(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            told.append(ctx.aborted)

    (task_id,) = bench.enqueue(slow.task())

    async with bench.working():
        await bench.state(task_id, "running")
        with silence(bench):
            await until(lambda: told)
        (task,) = await bench.finished(task_id)

    assert told == [LostReason.TIMEOUT]
    assert (task.state, bench.ask(EVENTS, task_id)) == ("failed", ["timeout"])


@pytest.mark.parametrize("cut_off", [True, False])
async def test_a_handler_whose_lease_ran_out_in_silence_is_stopped_on_request_only(
    bench: Bench, *, cut_off: bool
) -> None:
    told: list[LostReason | None] = []
    done = asyncio.Event()

    @bench.app.task(lease=LEASE, max_attempts=2)
    async def long(ctx: Context) -> str:
        try:
            if ctx.fence == 1:
                await done.wait()
        except asyncio.CancelledError:
            told.append(ctx.aborted)
            raise
        return "done"

    (task_id,) = bench.enqueue(long.task())

    async with bench.working(stop_when_cut_off=cut_off):
        await bench.state(task_id, "running")
        with silence(bench):
            if cut_off:
                await until(lambda: told)
            else:
                await asyncio.sleep(LEASE * 1.5)
        done.set()
        (task,) = await bench.finished(task_id)

    assert told == ([LostReason.DATABASE] if cut_off else [])
    assert (task.state, task.attempt, task.fence > 1) == ("completed", 1, cut_off)
