"""The contract of a handler about its result, enforced when its outcome is reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rolecall import Context, ContractBroken, HandlerMissing, NewTask, Next, Snooze
from tests.worker.bench import Bench, until


@dataclass
class Item:
    n: int


async def test_result_that_breaks_the_contract_fails_the_attempt(bench: Bench) -> None:

    @bench.app.task(max_attempts=1)
    async def bill(pages: Any) -> dict[str, int]:
        return {"pages": pages}

    wrong, right = bench.enqueue(bill.task(pages="many"), bill.task(pages=2))
    async with bench.working():
        broken, kept = await bench.finished(wrong, right)

    assert (broken.state, broken.result) == ("failed", None)
    assert broken.error == "result of 'bill': Expected `int`, got `str` - at `$[...]`"
    assert (kept.state, kept.result) == ("completed", {"pages": 2})


async def test_handler_with_a_declared_result_can_still_snooze(bench: Bench) -> None:
    @bench.app.task
    async def bill() -> int | Snooze:
        return Snooze(3600)

    (task_id,) = bench.enqueue(bill.task())
    async with bench.working():
        await bench.ended_once(task_id)

    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)


async def test_each_result_of_a_batch_is_checked_separately(bench: Bench) -> None:
    @bench.app.task(batch=10, max_attempts=1)
    def double(items: list[Item]) -> list[int]:
        results: list[Any] = [2 * item.n if item.n else "nothing" for item in items]
        return results

    ids = bench.enqueue(double.task(n=1), double.task(n=0), double.task(n=3))
    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == [2, None, 6]
    assert [task.state for task in tasks] == ["completed", "failed", "completed"]


async def test_contract_applies_to_the_result_that_a_middleware_returns(bench: Bench) -> None:
    async def spoil(ctx: Context, call_next: Next) -> object:
        return f"about {await call_next()}"

    @bench.app.task(middlewares=[spoil], max_attempts=1)
    async def count() -> int:
        return 7

    (task_id,) = bench.enqueue(count.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.error) == ("failed", "result of 'count': Expected `int`, got `str`")


async def test_own_transaction_cannot_complete_a_task_with_a_result_of_another_type(bench: Bench) -> None:
    bench.connection.execute("create table written (n int)")

    @bench.app.task(max_attempts=1)
    async def bill(ctx: Context) -> int:
        async with ctx.transaction() as tx:
            await tx.execute("insert into written values (1)")
            await ctx.complete(tx, "many")
        return 1

    (task_id,) = bench.enqueue(bill.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.error) == ("failed", "result of 'bill': Expected `int`, got `str`")
    assert bench.ask("select count(*) from written") == 0


async def test_worker_with_links_to_missing_handlers_does_not_start(bench: Bench) -> None:
    bench.app.task("first", continues=["nobody"])(lambda: None)

    with pytest.raises(HandlerMissing, match="nobody"):
        async with bench.working():
            pass

    assert bench.ask("select count(*) from rolecall.workers") == 0


async def test_worker_with_a_schedule_of_a_non_entry_handler_does_not_start(bench: Bench) -> None:
    bench.app.task("last", entry=False)(lambda: None)
    bench.app.schedule("nightly", "last", every=60)

    with pytest.raises(ContractBroken, match="schedule 'nightly'"):
        async with bench.working():
            pass


async def test_non_entry_handler_can_be_a_follow_up(bench: Bench) -> None:

    @bench.app.task(entry=False)
    async def last(n: int) -> int:
        return n

    @bench.app.task
    async def first(ctx: Context) -> None:
        ctx.follow_up(last.task(n=7))

    (task_id,) = bench.enqueue(first.task())
    async with bench.working():
        await bench.finished(task_id)
        (follower,) = await bench.finished(task_id + 1)

    assert (follower.handler, follower.result) == ("last", 7)


async def test_chain_continues_as_declared_and_ends_where_it_must(bench: Bench) -> None:
    """Handlers that may only continue, and handlers that may only end."""

    @bench.app.task(continues=["pay"], must_continue=True)
    async def order(ctx: Context, n: int) -> None:
        ctx.continue_with(pay.task(n=n))

    @bench.app.task(entry=False, continues=[])
    async def pay(n: int) -> int:
        return n

    (task_id,) = bench.enqueue(order.task(n=3))
    async with bench.working():
        await bench.finished(task_id)
        (last,) = await bench.finished(task_id + 1)

    assert (last.handler, last.chain_id, last.chain_index, last.result) == ("pay", task_id, 1, 3)


@pytest.mark.parametrize("own_transaction", [False, True])
@pytest.mark.parametrize(
    ("follower", "problem"),
    [
        ("refund", "handler 'order' may not be continued by 'refund'; declared: 'pay'"),
        (None, "handler 'order' must continue its chain, but ended it; declared: 'pay'"),
        ("pay", "payload of 'pay': Object missing required field `n`"),
    ],
)
async def test_undeclared_end_of_a_chain_fails_the_attempt(
    bench: Bench, follower: str | None, problem: str, *, own_transaction: bool
) -> None:
    bench.app.task("refund")(lambda: None)

    @bench.app.task("pay")
    async def pay(n: int) -> None: ...

    @bench.app.task(continues=["pay"], must_continue=True, max_attempts=1)
    async def order(ctx: Context) -> None:
        if follower:
            ctx.continue_with(NewTask(handler=follower))
        if own_transaction:
            async with ctx.transaction() as tx:
                await ctx.complete(tx)

    (task_id,) = bench.enqueue(order.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.error) == ("failed", problem)
    assert bench.ask("select count(*) from rolecall.all_tasks") == 1


async def test_follow_up_must_have_the_needs_that_its_handler_declares(bench: Bench) -> None:

    @bench.app.task(needs=["order"])
    async def audit() -> None: ...

    @bench.app.task(max_attempts=1)
    async def order(ctx: Context, enough: bool) -> None:
        ctx.follow_up(audit.task().options(needs=[ctx.task_id] if enough else []))

    right, wrong = bench.enqueue(order.task(enough=True), order.task(enough=False))
    async with bench.working():
        kept, broken = await bench.finished(right, wrong)
        await until(lambda: bench.ask("select count(*) from rolecall.finished_tasks where origin_id = %s", right))

    assert kept.state == "completed"
    assert (broken.state, broken.error) == ("failed", "handler 'audit' needs 1 tasks, not 0")
