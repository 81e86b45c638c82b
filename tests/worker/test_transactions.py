from __future__ import annotations

import asyncio
from contextlib import suppress

import psycopg
import pytest

from rolecall import AlreadyCompleted, BatchContext, Context, HandlerAborted, LostReason, NewTask
from tests.scenarios.chaos.proxy import Proxy
from tests.worker.bench import Bench, until


async def test_task_completes_in_one_transaction_with_its_handlers_rows(bench: Bench) -> None:
    bench.connection.execute("create table ledger (task_id bigint)")
    seen: list[object] = []

    @bench.app.task
    async def second() -> None: ...

    @bench.app.task
    async def record(ctx: Context) -> object:
        async with ctx.transaction() as tx:
            await tx.execute("insert into ledger values (%s)", (ctx.task_id,))
            ctx.follow_up(second.task())
            await ctx.complete(tx, {"rows": 1})
            seen.append((bench.ask("select count(*) from ledger"), bench.task(ctx.task_id).state))
        return "this return value is ignored"

    (task_id,) = bench.enqueue(record.task())

    async with bench.working():
        (task, _) = await bench.finished(task_id, task_id + 1)

    assert seen == [(0, "running")]
    assert (task.state, task.result, task.attempt) == ("completed", {"rows": 1}, 1)
    assert bench.ask("select count(*) from ledger") == 1
    assert bench.task(task_id + 1).origin_id == task_id


async def test_rolled_back_completion_fails_with_the_error_that_caused_it(bench: Bench) -> None:
    bench.connection.execute("create table ledger (task_id bigint)")

    @bench.app.task(max_attempts=1)
    async def record(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await tx.execute("insert into ledger values (%s)", (ctx.task_id,))
            await ctx.complete(tx)
            raise ValueError("after all")

    (task_id,) = bench.enqueue(record.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "failed"
    assert "after all" in (task.error or "")
    assert bench.ask("select count(*) from ledger") == 0


async def test_lost_claim_rolls_its_transaction_back(bench: Bench) -> None:
    bench.connection.execute("create table ledger (task_id bigint)")
    caught: list[LostReason | None] = []

    @bench.app.task(lease=60)
    async def record(ctx: Context) -> None:
        bench.ask("update rolecall.tasks set fence = fence + 1, worker_id = 0 returning 1")
        try:
            async with ctx.transaction() as tx:
                await tx.execute("insert into ledger values (%s)", (ctx.task_id,))
                await ctx.complete(tx)
        except (HandlerAborted, asyncio.CancelledError):  # the lease keeper may notice it first
            caught.append(ctx.aborted)
            raise

    (task_id,) = bench.enqueue(record.task())

    async with bench.working():
        await until(lambda: caught)

    assert caught == ["taken"]
    assert bench.ask("select count(*) from ledger") == 0
    assert (bench.task(task_id).state, bench.task(task_id).fence) == ("running", 2)


async def test_open_completion_does_not_block_the_renewal_of_other_leases(bench: Bench) -> None:
    opened, release = asyncio.Event(), asyncio.Event()

    @bench.app.task(lease=0.4)
    async def record(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx)
            opened.set()
            await release.wait()

    @bench.app.task(lease=0.4)
    async def other() -> None:
        await release.wait()

    first, second = bench.enqueue(record.task(), other.task())

    async with bench.working(slots=2):
        await until(opened.is_set)
        for _renewal in range(3):
            before = (await bench.state(second, "running")).lease_until
            await until(lambda: (bench.task(second).lease_until or before) > before)  # type: ignore[operator]
        release.set()
        tasks = await bench.finished(first, second)

    assert [task.attempt for task in tasks] == [1, 1]


async def test_transactions_of_handlers_cannot_starve_the_workers_own_calls(bench: Bench) -> None:
    everybody = asyncio.Barrier(3)

    @bench.app.task
    async def hold(ctx: Context) -> None:
        async with ctx.transaction():
            await everybody.wait()
            await ctx.info({"holding": True})

    ids = bench.enqueue(*(hold.task() for _ in range(3)))

    async with bench.working(slots=3):
        tasks = await bench.finished(*ids)

    assert {(task.state, task.attempt) for task in tasks} == {("completed", 1)}


async def test_transaction_repeated_after_an_unanswered_commit_writes_once(bench: Bench) -> None:
    bench.connection.execute("create table ledger (turn int)")

    @bench.app.task(max_attempts=1)
    async def charge(ctx: Context) -> None:
        for turn in range(5):
            try:
                async with ctx.transaction() as tx:
                    await tx.execute("insert into ledger values (%s)", (turn,))
                    await ctx.complete(tx, {"turn": turn})
            except psycopg.OperationalError:
                continue
            return

    (task_id,) = bench.enqueue(charge.task())

    with Proxy(bench.dsn).relaying() as proxy:
        proxy.lose_the_answer_to(b"COMMIT")
        bench.dsn = proxy.dsn
        async with bench.working():
            (task,) = await bench.finished(task_id)

    assert proxy.cut.is_set()
    assert (task.state, task.result) == ("completed", {"turn": 0})
    assert bench.ask("select array_agg(turn) from ledger") == [0]


async def test_second_transaction_of_a_completed_claim_is_rolled_back_and_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.connection.execute("create table ledger (turn int)")
    output: list[AlreadyCompleted] = []

    @bench.app.task(max_attempts=1)
    async def charge(ctx: Context) -> None:
        await write(ctx, 0)
        try:
            await write(ctx, 1)
        except AlreadyCompleted as again:
            output.append(again)
            raise

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        await until(lambda: output)

    assert bench.task(task_id).result == {"turn": 0}
    assert bench.ask("select array_agg(turn) from ledger") == [0]
    assert [(each.task_id, each.reason) for each in output] == [(task_id, LostReason.COMPLETED)]
    assert bench.ask("select count(*) from rolecall.task_events") == 0, "a completed task is not an error event"
    assert f"Task {task_id} was already completed" in caplog.text


async def test_catching_the_rejection_inside_the_transaction_still_commits_nothing(bench: Bench) -> None:
    bench.connection.execute("create table ledger (turn int)")

    @bench.app.task(max_attempts=1)
    async def charge(ctx: Context) -> None:
        await write(ctx, 0)
        async with ctx.transaction() as tx:
            await tx.execute("insert into ledger values (1)")
            with suppress(AlreadyCompleted):
                await ctx.complete(tx)

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        await bench.finished(task_id)

    assert bench.ask("select array_agg(turn) from ledger") == [0]


async def test_completing_again_in_the_same_transaction_changes_nothing(bench: Bench) -> None:
    bench.connection.execute("create table ledger (turn int)")

    @bench.app.task(max_attempts=1)
    async def charge(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            for turn in range(2):
                async with tx.transaction():
                    await tx.execute("insert into ledger values (%s)", (turn,))
                    await ctx.complete(tx, {"turn": turn})

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.result == {"turn": 0}
    assert bench.ask("select array_agg(turn) from ledger") == [0, 1]


async def test_repeated_transaction_of_a_plain_function_writes_once(bench: Bench) -> None:
    bench.connection.execute("create table ledger (turn int)")

    @bench.app.task(max_attempts=1)
    def charge(ctx: Context) -> None:
        for turn in range(2):
            ctx.wait(write(ctx, turn))

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.result) == ("completed", {"turn": 0})
    assert bench.ask("select array_agg(turn) from ledger") == [0]


async def test_repeated_batch_writes_once(bench: Bench) -> None:
    bench.connection.execute("create table ledger (turn int)")

    @bench.app.task(batch=3, max_attempts=1)
    async def charge(ctx: BatchContext, items: list[dict[str, int]]) -> None:
        for turn in range(2):
            async with ctx.transaction() as tx:
                for task in ctx.tasks:
                    await tx.execute("insert into ledger values (%s)", (turn,))
                    await task.complete(tx, {"turn": turn})

    ids = bench.enqueue(*(NewTask(handler="charge", payload={"n": n}) for n in range(3)))

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [(task.state, task.result) for task in tasks] == [("completed", {"turn": 0})] * 3
    assert bench.ask("select array_agg(turn) from ledger") == [0] * 3


async def write(ctx: Context, turn: int) -> None:
    async with ctx.transaction() as tx:
        await tx.execute("insert into ledger values (%s)", (turn,))
        await ctx.complete(tx, {"turn": turn})
