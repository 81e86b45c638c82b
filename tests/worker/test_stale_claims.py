"""A worker starts a claimed task only while it certainly owns it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from rolecall import BatchContext, Context, NewTask, immediate
from rolecall.db.run import run
from rolecall.sql import claims
from tests.scenarios.chaos.proxy import Proxy
from tests.worker.bench import Bench, until

LEASE = 0.5
IS_IDLE = "select true from rolecall.idle_marks join rolecall.workers on id = worker_id where name = 'far'"
CLAIM = b"rolecall.claim("


@asynccontextmanager
async def far_away(bench: Bench) -> AsyncIterator[Proxy]:
    """Run a worker whose first claim has not been answered yet."""
    near = bench.dsn
    with Proxy(near).relaying() as proxy:
        proxy.hold_the_answer_to(CLAIM)
        bench.dsn = proxy.dsn
        try:
            async with bench.working(name="far", listen=False):
                bench.dsn = near
                await until(proxy.held.is_set)
                yield proxy
        finally:
            bench.dsn = near


async def test_claim_answered_after_its_lease_does_not_start(bench: Bench) -> None:
    ran_by: list[int] = []

    @bench.app.task(lease=LEASE, retry=immediate())
    async def work(ctx: Context) -> None:
        ran_by.append(ctx.worker_id)

    (task_id,) = bench.enqueue(work.task())

    async with far_away(bench) as proxy:
        await until(bench.rescue)
        async with bench.working(name="near"):
            await bench.finished(task_id)
        proxy.let_answers_go()
        await until(lambda: bench.ask(IS_IDLE))

    near = bench.ask("select id from rolecall.workers where name = 'near'")
    assert ran_by == [near]


async def test_tasks_whose_leases_expired_before_the_claim_answer_are_returned(bench: Bench) -> None:
    attempts: list[tuple[int, int]] = []

    @bench.app.task(lease=LEASE, batch=3)
    async def work(ctx: BatchContext, items: list[dict[str, int]]) -> None:
        attempts.extend((task.task_id, task.attempt) for task in ctx.tasks)

    ids = bench.enqueue(*(NewTask(handler="work", payload={"n": n}) for n in range(3)))

    async with far_away(bench) as proxy:
        await until(lambda: bench.ask("select min(lease_until) < clock_timestamp() from rolecall.tasks"))
        proxy.let_answers_go()
        await bench.finished(*ids)

    assert sorted(attempts) == [(task_id, 1) for task_id in ids]
    kinds = "select array_agg(distinct kind) from rolecall.task_events"
    assert bench.ask(kinds) == ["returned"]


async def test_claim_answered_after_the_task_expired_does_not_start(bench: Bench) -> None:
    ran: list[int] = []

    @bench.app.task(lease=60, max_attempts=3)
    async def work(ctx: Context) -> None:
        ran.append(ctx.task_id)

    (task_id,) = bench.enqueue(work.task().options(expires=LEASE))

    async with far_away(bench) as proxy:
        await until(lambda: bench.ask("select expires_at < clock_timestamp() from rolecall.tasks"))
        proxy.let_answers_go()
        await until(lambda: bench.task(task_id).state == "pending")
        run(bench.connection, claims.expire())

    task = bench.task(task_id)
    assert (task.state, task.attempt, ran) == ("cancelled", 0, [])


async def test_lease_is_counted_from_the_claim_request(bench: Bench) -> None:
    """A late response must not move the start of the lease."""
    ends: list[float] = []

    @bench.app.task(lease=60)
    async def work(ctx: Context) -> None:
        ends.append(ctx._held.lease_ends_at)

    (task_id,) = bench.enqueue(work.task())

    async with far_away(bench) as proxy:
        seen_at = monotonic()
        await until(lambda: monotonic() > seen_at + 0.1)
        proxy.let_answers_go()
        await bench.finished(task_id)

    assert ends[0] <= seen_at + 60


async def test_deadline_that_passed_before_the_start_does_not_fail_the_task(bench: Bench) -> None:
    attempts: list[int] = []

    @bench.app.task(timeout=LEASE, lease=60, max_attempts=1)
    async def work(ctx: Context) -> None:
        attempts.append(ctx.attempt)

    (task_id,) = bench.enqueue(work.task())

    async with far_away(bench) as proxy:
        await until(lambda: bench.ask("select deadline_at < clock_timestamp() from rolecall.tasks"))
        proxy.let_answers_go()
        (task,) = await bench.finished(task_id)

    assert (task.state, attempts) == ("completed", [1])
