"""Rules that create follow-ups, and transactions of handlers."""

from __future__ import annotations

from typing import Any

from rolecall import Context, HandlerAborted, LostReason, NewTask, PermanentFailure, immediate
from tests.worker.bench import Bench, until


async def test_declared_rule_creates_follow_ups_from_the_result(bench: Bench) -> None:

    @bench.app.task
    async def crawl(store: int) -> None: ...

    def crawl_all(report: dict[str, Any]) -> list[NewTask]:
        return [crawl.task(store=store) for store in report["newStoreIds"]]

    @bench.app.task(then=crawl_all)
    async def discover() -> dict[str, list[int]]:
        return {"newStoreIds": [7, 8]}

    (task_id,) = bench.enqueue(discover.task())
    async with bench.working():
        await bench.finished(task_id, task_id + 1, task_id + 2)

    followers = [bench.task(task_id + n) for n in (1, 2)]
    assert [(task.payload, task.origin_id) for task in followers] == [({"store": 7}, task_id), ({"store": 8}, task_id)]


async def test_raising_rule_fails_the_attempt(bench: Bench) -> None:
    def stumble(result: object) -> list[NewTask]:
        raise PermanentFailure("no rule for this")

    @bench.app.task(then=stumble)
    async def discover() -> int:
        return 1

    (task_id,) = bench.enqueue(discover.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("failed", 1)
    assert "no rule for this" in (task.error or "")


async def test_prepared_transaction_commits_before_the_work_and_completes_nothing(bench: Bench) -> None:
    """Prepare in one transaction, complete in another, under one claim."""
    bench.connection.execute("create table ledger (task_id bigint, what text)")
    seen: list[object] = []

    @bench.app.task
    async def bill(ctx: Context) -> None:
        async with ctx.prepare() as tx:
            await tx.execute("insert into ledger values (%s, 'prepared')", (ctx.task_id,))
        seen.append(bench.ask("select what from ledger"))
        async with ctx.transaction() as tx:
            await tx.execute("update ledger set what = 'billed'")
            await ctx.complete(tx)

    (task_id,) = bench.enqueue(bill.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert seen == ["prepared"]
    assert (task.state, bench.ask("select what from ledger")) == ("completed", "billed")


async def test_failed_statement_aborts_its_transaction_but_not_the_failure_report(bench: Bench) -> None:
    """The next attempt reads the error of the previous one."""
    bench.connection.execute("create table ledger (task_id bigint primary key)")
    errors: list[str | None] = []

    @bench.app.task(max_attempts=2, retry=immediate())
    async def bill(ctx: Context) -> None:
        errors.append(ctx.last_error)
        async with ctx.transaction() as tx:
            await tx.execute("insert into ledger values (%s)", (ctx.task_id,))
            await ctx.complete(tx)
            if ctx.attempt == 1:
                await tx.execute("insert into ledger values (%s)", (ctx.task_id,))

    (task_id,) = bench.enqueue(bill.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt, bench.ask("select count(*) from ledger")) == ("completed", 2, 1)
    assert errors[0] is None
    assert "UniqueViolation" in (errors[1] or "")


async def test_prepare_is_rejected_under_a_lost_claim(bench: Bench) -> None:
    output: list[object] = []

    @bench.app.task
    async def bill(ctx: Context) -> None:
        bench.connection.execute("update rolecall.tasks set fence = fence + 1")
        try:
            async with ctx.prepare():
                output.append("prepared")
        except HandlerAborted as aborted:
            output.append(aborted.reason)
            raise

    bench.enqueue(bill.task())
    async with bench.working(
        listen=False
    ):  # a listening worker checks again after a notification, and may cancel the handler first
        await until(lambda: output)

    assert output == [LostReason.TAKEN]
