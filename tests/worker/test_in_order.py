"""A worker that holds several tasks of a key runs them one after another, in their order."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from rolecall import Context
from rolecall.db.connect import connect
from tests.worker.bench import PATIENCE, Bench, until

KEPT_BACK = "outcomes cannot be stored yet"
FINISHED = "select exists (select from rolecall.finished_tasks where id = %s)"
TOGETHER = (
    "select coalesce(max(n), 0) from (select count(*) as n from rolecall.tasks where key_slot <> 0 group by key) as a"
)


async def test_tasks_of_a_key_run_in_order_one_after_another(bench: Bench) -> None:
    running, ran, most, held = 0, [], 0, 0

    @bench.app.task
    async def work(n: int) -> None:
        nonlocal running, most, held
        running += 1
        most = max(most, running)
        held = max(held, bench.ask(TOGETHER))
        await asyncio.sleep(0)
        ran.append(n)
        running -= 1

    ids = bench.enqueue(*(work.task(n=n).options(key="store") for n in range(60)))
    async with bench.working(slots=4):
        tasks = await bench.finished(*ids)

    assert ran == list(range(60))
    assert most == 1
    assert {task.attempt for task in tasks} == {1}
    assert held > 1, "the worker held several tasks at once"


@pytest.mark.parametrize("how", ["role", "handler", "prefetch"])
async def test_at_most_one_task_of_a_key_is_claimed(bench: Bench, how: str) -> None:
    """With strict keys, or by a worker that claims nothing ahead."""
    held = 0
    bench.app.role("work", strict_keys=how == "role")

    @bench.app.task(role="work", strict_keys=True if how == "handler" else None)
    async def work() -> None:
        nonlocal held
        held = max(held, bench.ask(TOGETHER))

    ids = bench.enqueue(*(work.task().options(key=f"store:{n % 2}") for n in range(60)))
    async with bench.working(slots=4, prefetch=0 if how == "prefetch" else 1_000):
        await bench.finished(*ids)

    assert held == 1


async def test_key_stays_blocked_while_one_of_its_tasks_waits_for_children(bench: Bench) -> None:
    events: list[str] = []

    @bench.app.task
    async def quick(name: str) -> None:
        events.append(name)

    @bench.app.task
    async def child() -> None:
        events.append("child")

    @bench.app.task
    async def parent(ctx: Context) -> None:
        events.append("parent")
        ctx.spawn(child.task())

    # Tasks that finish at once let the worker claim ahead.
    before = [quick.task(name="before").options(key="store") for _ in range(40)]
    after = [quick.task(name="after").options(key="store") for _ in range(10)]
    ids = bench.enqueue(*before, parent.task().options(key="store"), *after)
    async with bench.working(slots=2):
        await bench.finished(*ids)

    assert events == ["before"] * 40 + ["parent", "child"] + ["after"] * 10


async def test_tasks_behind_a_slow_task_of_their_key_are_returned(bench: Bench) -> None:
    begun, enough = asyncio.Event(), asyncio.Event()

    @bench.app.task
    async def quick() -> None: ...

    @bench.app.task
    async def slow() -> None:
        begun.set()
        await enough.wait()

    quick_ones = [quick.task().options(key="store") for _ in range(40)]
    ids = bench.enqueue(*quick_ones, slow.task().options(key="store"), *quick_ones)
    async with bench.working(slots=2):
        await asyncio.wait_for(begun.wait(), PATIENCE)
        await until(lambda: bench.ask("select count(*) from rolecall.tasks where state = 'running'") == 1)
        enough.set()
        tasks = await bench.finished(*ids)

    assert {(task.state, task.attempt) for task in tasks} == {("completed", 1)}


async def test_task_completed_in_a_transaction_started_after_its_predecessor_finished(bench: Bench) -> None:
    @bench.app.task
    async def work(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx)

    ids = bench.enqueue(*(work.task().options(key="store") for _ in range(60)))
    async with bench.working(slots=2):
        await bench.finished(*ids)

    overlaps = (
        "select count(*) from"
        " (select started_at, lag(finished_at) over (order by id) as ended from rolecall.finished_tasks) as task"
        " where started_at < ended"
    )
    assert bench.ask(overlaps) == 0


async def test_task_completed_in_its_own_transaction_finishes_after_its_predecessors(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    ended_before: list[bool] = []

    @bench.app.task
    async def quick() -> None: ...

    @bench.app.task
    async def own(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx)
            ended_before.append(bench.ask("select not exists (select from rolecall.tasks where id < %s)", ctx.task_id))

    ids = bench.enqueue(
        *(quick.task().options(key="store") for _ in range(40)),
        *(each.task().options(key="store") for _ in range(5) for each in (quick, own)),
    )
    async with bench.working(slots=2):
        await bench.finished(*ids)

    assert ended_before == [True] * 5
    assert not caplog.records


async def test_outcome_is_not_stored_before_that_of_its_predecessor(bench: Bench) -> None:
    ran: list[int] = []
    locked: list[int] = []

    with connect(bench.dsn, "somebody") as somebody:

        @bench.app.task
        async def work(ctx: Context, n: int) -> None:
            if n == 60:
                somebody.execute("begin")
                somebody.execute("select from rolecall.tasks where id = %s for update", (ctx.task_id,))
                locked.append(ctx.task_id)
            ran.append(n)

        ids = bench.enqueue(*(work.task(n=n).options(key="store") for n in range(120)))
        async with bench.working(slots=2):
            await until(lambda: locked and bench.task(ids[59]).is_finished)
            await until(lambda: len(ran) > 61)
            # Outcomes of this one are stored while those behind the locked one wait.
            await bench.finished(*bench.enqueue(work.task(n=-1)))
            later = bench.ask("select count(*) from rolecall.finished_tasks where key = 'store' and id > %s", locked[0])
            somebody.execute("rollback")
            tasks = await bench.finished(*ids)

    assert later == 0
    assert ran == [*range(ran.index(-1)), -1, *range(ran.index(-1), 120)]
    assert {task.state for task in tasks} == {"completed"}


async def test_later_outcome_is_held_back_behind_an_earlier_one(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    second_returns = asyncio.Event()

    with connect(bench.dsn, "somebody") as somebody:

        @bench.app.task
        async def quick() -> None: ...

        @bench.app.task
        async def first(ctx: Context) -> None:
            somebody.execute("begin")
            somebody.execute("select from rolecall.tasks where id = %s for update", (ctx.task_id,))

        @bench.app.task
        async def second() -> None:
            await until(lambda: KEPT_BACK in caplog.text)
            second_returns.set()

        # Handlers that return at once let the worker claim ahead.
        before = [quick.task().options(key="store") for _ in range(40)]
        ids = bench.enqueue(*before, first.task().options(key="store"), second.task().options(key="store"))
        async with bench.working(slots=2):
            await asyncio.wait_for(second_returns.wait(), PATIENCE)
            # Its outcome is reported after that of `second`.
            await bench.finished(*bench.enqueue(quick.task()))
            is_stored = bench.ask(FINISHED, ids[-1])
            somebody.execute("rollback")
            tasks = await bench.finished(*ids)

    assert not is_stored
    assert {(task.state, task.attempt, task.fence) for task in tasks} == {("completed", 1, 1)}


@pytest.mark.parametrize("is_async", [True, False], ids=["complete", "complete_sync"])
async def test_task_is_returned_rather_than_completed_before_its_predecessor(bench: Bench, is_async: bool) -> None:
    ran: list[str] = []

    with connect(bench.dsn, "somebody") as somebody:

        @bench.app.task
        async def quick() -> None: ...

        @bench.app.task
        async def first(ctx: Context) -> None:
            ran.append("first")
            somebody.execute("begin")
            somebody.execute("select from rolecall.tasks where id = %s for update", (ctx.task_id,))

        async def own(ctx: Context) -> None:
            ran.append("second")
            async with ctx.transaction() as tx:
                await ctx.complete(tx)

        def own_sync(ctx: Context) -> None:
            ran.append("second")
            with psycopg.connect(bench.dsn) as tx:
                ctx.complete_sync(tx)

        @bench.app.task
        async def third() -> None:
            ran.append("third")

        second = bench.app.task(own if is_async else own_sync)
        before = [quick.task().options(key="store") for _ in range(40)]
        ids = bench.enqueue(*before, *(each.task().options(key="store") for each in (first, second, third)))
        async with bench.working(slots=2):
            await until(lambda: bench.ask("select count(*) from rolecall.task_events where task_id = %s", ids[-2]))
            state, attempt = bench.task(ids[-2]).state, bench.task(ids[-2]).attempt
            stored = [bench.ask(FINISHED, each) for each in ids[-3:]]
            somebody.execute("rollback")
            tasks = await bench.finished(*ids)

    assert (state, attempt, stored) == ("pending", 0, [False, False, False])
    assert ran == ["first", "second", "second", "third"]
    assert {task.state for task in tasks} == {"completed"}
