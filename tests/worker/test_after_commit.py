"""`ctx.after_commit`: calls run after the handler's changes are committed, and only then."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import psycopg
import pytest

from rolecall import BatchContext, Cancel, Context, NewTask, Snooze
from tests.worker.bench import Bench, until


async def test_after_commit_call_runs_once_the_outcome_is_stored(bench: Bench) -> None:
    """In order, async and plain, from handlers on the loop and in threads."""
    seen: dict[str, list[object]] = {"add": [], "sub": []}

    def tell(ctx: Context, name: str) -> None:
        seen[ctx.handler].append((name, bench.task(ctx.task_id).state))

    async def tell_later(ctx: Context, name: str) -> None:
        await asyncio.sleep(0)
        tell(ctx, name)

    def ask(ctx: Context) -> None:
        ctx.after_commit(partial(tell_later, ctx, "first"))
        ctx.after_commit(partial(tell, ctx, "second"))
        tell(ctx, "within")

    @bench.app.task
    async def add(ctx: Context) -> None:
        ask(ctx)

    @bench.app.task
    def sub(ctx: Context) -> None:
        ask(ctx)

    bench.enqueue(add.task(), sub.task())

    async with bench.working():
        await until(lambda: all(len(names) == 3 for names in seen.values()))

    expected = [("within", "running"), ("first", "completed"), ("second", "completed")]
    assert seen == {"add": expected, "sub": expected}


async def test_after_commit_call_is_dropped_if_the_attempt_does_not_complete(bench: Bench) -> None:
    seen: list[str] = []

    @bench.app.task(max_attempts=1)
    async def end(ctx: Context, how: str) -> object:
        ctx.after_commit(lambda: seen.append(how))
        if how == "lost":
            bench.connection.execute("update rolecall.tasks set fence = fence + 1 where id = %s", [ctx.task_id])
        if how == "fail":
            raise ValueError
        return {"snooze": Snooze(3600), "cancel": Cancel("enough")}.get(how, how)

    ids = bench.enqueue(*(end.task(how=how) for how in ("fail", "snooze", "cancel", "lost", "well")))

    async with bench.working():
        await bench.finished(ids[0], ids[2], ids[4])

    assert seen == ["well"]


async def test_after_commit_call_within_a_transaction_waits_only_for_its_commit(bench: Bench) -> None:
    seen: list[str] = []

    @bench.app.task(max_attempts=1)
    async def work(ctx: Context) -> None:
        with suppress(ValueError):
            async with ctx.transaction():
                ctx.after_commit(lambda: seen.append("undone"))
                raise ValueError
        async with ctx.transaction() as tx:
            ctx.after_commit(lambda: seen.append("committed"))
            with suppress(ValueError):
                async with tx.transaction():
                    ctx.after_commit(lambda: seen.append("undone with its savepoint"))
                    raise ValueError
            assert seen == []
        assert seen == ["committed"]
        ctx.after_commit(lambda: seen.append("never: the attempt fails"))
        raise ValueError("late")

    (task_id,) = bench.enqueue(work.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert seen == ["committed"]
    assert "late" in (task.error or "")


async def test_completing_transaction_triggers_the_after_commit_calls_of_its_task(bench: Bench) -> None:
    """This includes the tasks of a batch. Earlier callbacks run when the worker learns of the commit."""
    seen: list[object] = []

    @bench.app.task(batch=2)
    async def pay(ctx: BatchContext, items: list[dict[str, int]]) -> None:
        ctx.tasks[0].after_commit(lambda: seen.append(("outside", bench.task(ids[0]).state)))
        async with ctx.transaction() as tx:
            for task in ctx.tasks:
                task.after_commit(lambda task=task: seen.append((task.task_id, bench.task(task.task_id).state)))  # type: ignore[misc]
                await task.complete(tx)

    ids = bench.enqueue(*(NewTask(handler="pay", payload={"n": n}) for n in range(2)))

    async with bench.working(slots=1):
        await until(lambda: len(seen) == 3)

    assert seen == [(ids[0], "completed"), (ids[1], "completed"), ("outside", "completed")]


async def test_completion_rolled_back_silently_drops_its_after_commit_call(bench: Bench) -> None:
    """The handler's return value determines the outcome."""
    seen: list[str] = []

    @bench.app.task
    async def work(ctx: Context) -> str:
        async with ctx.transaction() as tx:
            ctx.after_commit(lambda: seen.append("undone"))
            await ctx.complete(tx, "in the transaction")
            undo()
        return "returned"

    (task_id,) = bench.enqueue(work.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.result, seen) == ("completed", "returned", [])


async def test_raising_after_commit_call_is_logged_and_the_task_stays_completed(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    @bench.app.task
    async def work(ctx: Context) -> None:
        ctx.after_commit(partial(int, "x"))
        ctx.after_commit(lambda: seen.append("next"))

    (task_id,) = bench.enqueue(work.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)
        await until(lambda: seen == ["next"])

    assert task.state == "completed"
    assert "An after-commit call failed" in caplog.text


async def test_stopping_worker_runs_the_after_commit_calls_of_finished_tasks(bench: Bench) -> None:
    seen: list[str] = []
    begun = asyncio.Event()

    async def tell() -> None:
        begun.set()
        await asyncio.sleep(0.2)
        seen.append("called")

    @bench.app.task
    async def work(ctx: Context) -> None:
        ctx.after_commit(tell)

    bench.enqueue(work.task())

    async with bench.working():
        await begun.wait()

    assert seen == ["called"]


def undo() -> None:
    raise psycopg.Rollback
