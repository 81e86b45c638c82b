from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest

from rolecall import Context, HandlerAborted, LostReason, immediate
from tests.worker.bench import LISTENING, PATIENCE, SOON, Bench, until

LEASE = 0.8
# The lease of the only task was renewed for longer than it lasts.
KEPT = f"select lease_until > claimed_at + interval '{2.25 * LEASE} s' from rolecall.tasks"
RENEWED_SINCE = """\
select count(*) from pg_stat_activity
where datname = current_database() and query like '%%rolecall.renew(%%' and query_start > %s and state = 'idle'
"""
TAKE_OVER = "update rolecall.tasks set fence = fence + 1, worker_id = 0, lease_until = now() returning 1"


async def test_lease_of_a_running_task_is_renewed(bench: Bench) -> None:
    enough = asyncio.Event()

    @bench.app.task(lease=LEASE)
    async def long() -> None:
        await enough.wait()

    (task_id,) = bench.enqueue(long.task())

    async with bench.working():
        await until(lambda: bench.ask(KEPT))
        enough.set()
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 1)


async def test_handler_that_blocks_the_loop_keeps_its_lease(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    kept: list[object] = []

    def look_meanwhile() -> None:
        deadline = time.monotonic() + PATIENCE
        while not (bench.ask(KEPT) and "by rude at" in caplog.text) and time.monotonic() < deadline:
            time.sleep(0.01)
        kept.append(bench.ask(KEPT))

    @bench.app.task(lease=LEASE)
    async def rude() -> None:
        looker = threading.Thread(target=look_meanwhile)
        looker.start()
        looker.join()

    (task_id,) = bench.enqueue(rude.task())

    with caplog.at_level(logging.WARNING, "rolecall.worker"):
        async with bench.working():
            (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt, kept) == ("completed", 1, [True])
    assert "by rude at" in caplog.text


async def test_blocked_thread_keeps_its_lease(bench: Bench) -> None:
    enough = threading.Event()

    @bench.app.task(lease=LEASE)
    def long() -> None:
        enough.wait(PATIENCE)

    (task_id,) = bench.enqueue(long.task())

    async with bench.working():
        await until(lambda: bench.ask(KEPT))
        enough.set()
        (task,) = await bench.finished(task_id)

    assert task.attempt == 1


async def test_handler_of_a_taken_task_is_aborted_and_its_outcome_dropped(bench: Bench) -> None:
    begun = asyncio.Event()
    output: list[LostReason | None] = []

    @bench.app.task(lease=LEASE, retry=immediate())
    async def long(ctx: Context) -> str:
        if output:
            return "the second owner's"
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            output.append(ctx.aborted)
        return "the first owner's"

    (task_id,) = bench.enqueue(long.task())

    async with bench.working():
        await until(begun.is_set)
        bench.ask(TAKE_OVER)
        await until(lambda: output)
        await until(bench.rescue)
        (task,) = await bench.finished(task_id)

    assert output == [LostReason.TAKEN]
    assert task.result == "the second owner's"


async def test_slot_of_an_aborted_handler_runs_further_tasks(bench: Bench) -> None:
    @bench.app.task(lease=LEASE)
    async def stuck() -> None:
        await asyncio.sleep(60)

    @bench.app.task
    async def next_one() -> None:
        async with asyncio.timeout(60):
            await asyncio.sleep(0)

    stopped, after = bench.enqueue(stuck.task().options(priority=1), next_one.task())

    async with bench.working():
        await bench.state(stopped, "running")
        bench.ask("delete from rolecall.tasks where id = %s returning 1", stopped)
        (task,) = await bench.finished(after)

    assert task.state == "completed"


async def test_cancellation_of_a_running_task_reaches_its_handler_immediately(bench: Bench) -> None:
    begun = asyncio.Event()
    output: list[LostReason | None] = []

    @bench.app.task(lease=60)
    async def long(ctx: Context) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            output.append(ctx.aborted)

    (task_id,) = bench.enqueue(long.task())

    async with bench.working():
        await until(begun.is_set)
        await until(lambda: bench.ask(LISTENING))
        bench.cancel(task_id)
        (task,) = await bench.finished(task_id, within=SOON)

    assert task.state == "cancelled"
    assert output == [LostReason.CANCELLED]


async def test_plain_function_detects_its_cancellation_with_check(bench: Bench) -> None:
    @bench.app.task(lease=LEASE)
    def long(ctx: Context) -> None:
        for _ in range(1_000):
            ctx.check()
            time.sleep(0.01)

    (task_id,) = bench.enqueue(long.task())

    async with bench.working():
        await bench.state(task_id, "running")
        bench.cancel(task_id)
        (task,) = await bench.finished(task_id)

    assert task.state == "cancelled"


async def test_handler_over_its_timeout_is_aborted_and_fails_with_that_reason(bench: Bench) -> None:
    output: list[LostReason | None] = []

    @bench.app.task(lease=60, timeout=0.3, max_attempts=1)
    async def slow(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            output.append(ctx.aborted)

    (task_id,) = bench.enqueue(slow.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "failed"
    assert "did not finish within 0.3 s" in (task.error or "")
    assert output == [LostReason.TIMEOUT]


async def test_thread_that_ignores_its_abort_is_reported_failed_and_occupies_its_slot(bench: Bench) -> None:
    release = threading.Event()

    @bench.app.task(lease=60, timeout=0.2, max_attempts=1)
    def stuck() -> None:
        release.wait(20)

    @bench.app.task
    def other() -> None: ...

    hangs, waits = bench.enqueue(stuck.task().options(priority=1), other.task())

    async with bench.working(abort_grace=0.2):
        (task,) = await bench.finished(hangs)
        assert bench.task(waits).state == "pending"
        release.set()
        await bench.finished(waits)

    assert task.state == "failed"


async def test_handler_that_swallows_its_abort_is_cancelled_again(bench: Bench) -> None:
    @bench.app.task(timeout=0.2, max_attempts=1)
    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(60)

    @bench.app.task
    async def other() -> None: ...

    hangs, waits = bench.enqueue(stubborn.task().options(priority=1), other.task())

    async with bench.working(abort_grace=0.2):
        (task, _) = await bench.finished(hangs, waits)

    assert task.state == "failed"


async def test_aborted_handler_receives_the_reason_from_check_and_info(bench: Bench) -> None:
    received: list[object] = []

    @bench.app.task(lease=60)
    async def curious(ctx: Context) -> None:
        bench.ask("delete from rolecall.tasks where id = %s returning 1", ctx.task_id)
        try:
            await ctx.info({"pages": 3})
        except HandlerAborted as aborted:
            received.append(aborted.reason)
            raise

    bench.enqueue(curious.task())

    async with bench.working(
        listen=False
    ):  # a listening worker checks again after a notification, and may cancel the handler first
        await until(lambda: received)

    assert received == [LostReason.DELETED]


async def test_deadline_that_passed_for_the_database_only_aborts_no_handler(bench: Bench) -> None:
    """The server's clock was set forward. The deadline is moved as soon as a process has noticed it."""
    enough = asyncio.Event()

    @bench.app.task(lease=LEASE)
    async def long() -> None:
        await enough.wait()

    (task_id,) = bench.enqueue(long.task())

    async with bench.working():
        await bench.state(task_id, "running")
        passed_at = bench.ask("update rolecall.tasks set deadline_at = now() returning clock_timestamp()")
        await until(lambda: bench.ask(RENEWED_SINCE, passed_at))
        bench.ask("update rolecall.tasks set deadline_at = now() + interval '1 hour' returning 1")
        await until(lambda: bench.ask(KEPT))
        enough.set()
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 1)
