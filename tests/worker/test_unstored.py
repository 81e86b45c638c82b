"""A result that cannot be stored fails its task."""

from __future__ import annotations

import asyncio
import logging

import pytest

from rolecall import Context, Task, UnstoredResult
from tests.worker import crunching
from tests.worker.bench import Bench

FORGOTTEN = "that was not awaited: is an `await` missing?"
TOO_LARGE = 3_000_000


async def only(bench: Bench, handler: str, **payload: object) -> Task:
    """Run one task of a handler until it has finished."""
    (task_id,) = bench.enqueue(bench.app.handlers[handler].task(**payload))
    async with bench.working():
        (task,) = await bench.finished(task_id)
    return task


async def test_missing_await_in_an_async_handler_is_an_error(bench: Bench) -> None:
    @bench.app.task(max_attempts=2)
    async def forget() -> object:
        return asyncio.sleep(0)

    task = await only(bench, "forget")

    assert (task.state, task.attempt) == ("failed", 2)
    assert f"TypeError: 'forget' returned a coroutine {FORGOTTEN}" in (task.error or "")


async def test_missing_await_in_a_threaded_handler_is_an_error(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    def forget() -> object:
        return asyncio.sleep(0)

    assert FORGOTTEN in ((await only(bench, "forget")).error or "")


async def test_missing_await_in_a_process_handler_is_an_error(bench: Bench) -> None:
    bench.app.task(process=True, max_attempts=1)(crunching.decide)

    assert FORGOTTEN in ((await only(bench, "decide", kind="forgotten")).error or "")


async def test_missing_await_in_a_transaction_rolls_it_back(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    async def forget(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await tx.execute("create table written ()")
            await ctx.complete(tx, asyncio.sleep(0))

    task = await only(bench, "forget")

    assert FORGOTTEN in (task.error or "")
    assert bench.ask("select to_regclass('written')") is None


async def test_too_large_result_is_logged_and_flagged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @bench.app.task
    async def write() -> object:
        return "x" * TOO_LARGE

    task = await only(bench, "write")

    assert task.state == "completed"
    assert isinstance(task.result, UnstoredResult)
    assert task.result.why == "3000002 bytes exceed the limit of 1048576"
    assert warnings(caplog) == [f"The result of task {task.id} (write) was not stored: {task.result.why}"]


async def test_unserializable_result_in_a_transaction_is_also_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    @bench.app.task
    async def write(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx, object())

    task = await only(bench, "write")

    assert [f"The result of task {task.id} (write) was not stored" in output for output in warnings(caplog)] == [True]


async def test_declared_result_that_cannot_be_stored_fails_the_attempt(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    async def write() -> str:
        return "x" * TOO_LARGE

    task = await only(bench, "write")

    assert task.state == "failed"
    assert "result of 'write' cannot be stored: 3000002 bytes" in (task.error or "")


async def test_gather_step_that_reads_an_unstored_result_fails(bench: Bench) -> None:
    @bench.app.task
    async def part() -> object:
        return object()

    async def put_together(ctx: Context) -> int:
        return sum([child.result["cents"] for child in await ctx.children()])

    @bench.app.task(gather=put_together, max_attempts=1)
    async def whole(ctx: Context) -> None:
        ctx.spawn(part.task())

    task = await only(bench, "whole")

    assert task.state == "failed"
    assert "ResultNotStored: the result was not stored" in (task.error or "")


async def test_gather_step_that_does_not_read_an_unstored_result_still_runs(bench: Bench) -> None:
    @bench.app.task
    async def part() -> object:
        return object()

    async def count(ctx: Context) -> list[str]:
        return [child.state for child in await ctx.children()]

    @bench.app.task(gather=count, max_attempts=1)
    async def whole(ctx: Context) -> None:
        ctx.spawn(part.task())

    assert (await only(bench, "whole")).result == ["completed"]


async def test_dependent_that_reads_an_unstored_result_of_a_need_fails(bench: Bench) -> None:
    @bench.app.task
    async def sales() -> object:
        return object()

    @bench.app.task(max_attempts=1)
    async def report(ctx: Context) -> int:
        [need] = await ctx.needs()
        return int(need.result)

    needed = sales.task()
    _, report_id = bench.enqueue(needed, report.task().options(needs=[needed]))
    async with bench.working():
        (task,) = await bench.finished(report_id)

    assert "ResultNotStored" in (task.error or "")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
