"""A worker without a database connection stops its handlers before another worker may start their tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import pytest

from rolecall import Context, LostReason, NewTask
from rolecall.db.run import run
from rolecall.model.states import TaskState
from rolecall.model.tasks import ClaimedTask
from rolecall.sql import claims
from rolecall.worker.in_flight import UNSTARTED_LEASE, HeldTask, InFlight, RunnerSlot
from rolecall.worker.leases import LeaseKeeper, LostTask
from rolecall.worker.session import DatabaseSessions
from tests.worker.bench import Bench, until
from tests.worker.silence import silence
from tests.worker.test_lost_leases import REGISTER, UNHEARD

LEASE = 1.2
# Measured by the server's clock, which decides when another worker may start.
LEFT = "select extract(epoch from lease_until - clock_timestamp())::float8 from rolecall.tasks where id = %s"
GRACE = 5.0


class Idle:
    """A runner that is never called."""

    interruptible = False
    max_tasks = 1

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None: ...


def held_task(*, started: bool, lease: float = 60.0, sent_at: float = 1000.0) -> HeldTask:
    now = datetime.now(UTC)
    task = ClaimedTask(1, 1, 1, 0, "r", "h", 0, "{}", None, 1, 0, now, now, lease, 3600.0)
    held = HeldTask(task, Idle(), 1, sent_at)
    if started:
        held.record_started()
    return held


def test_handler_is_stopped_so_that_its_grace_period_ends_with_the_lease() -> None:
    assert held_task(started=True, lease=60).stop_at(GRACE) == 1000 + 60 - GRACE


def test_grace_period_is_at_most_a_quarter_of_the_lease() -> None:
    """Otherwise a short lease would expire before it could be renewed."""
    assert held_task(started=True, lease=2).stop_at(GRACE) == 1000 + 1.5


def test_renewal_extends_the_lease_from_the_time_of_its_request() -> None:
    held = held_task(started=True, lease=60)
    held.plan_renewal(1015.0)

    assert held.stop_at(GRACE) == 1015 + 60 - GRACE


def test_task_without_a_recorded_start_can_lose_its_lease_early() -> None:
    held = held_task(started=False, lease=60)

    assert held.free_at == held.start_before == 1000 + UNSTARTED_LEASE
    assert held.stop_at(GRACE) == 1000 + UNSTARTED_LEASE * 3 / 4


def test_task_with_a_recorded_start_keeps_its_whole_lease() -> None:
    held = held_task(started=False, lease=60)
    held.record_started()

    assert held.stop_at(GRACE) == 1000 + 60 - GRACE


@asynccontextmanager
async def keeping(bench: Bench, held: HeldTask, **options: Any) -> AsyncIterator[list[LostTask]]:
    in_flight, lost = InFlight(), list[LostTask]()
    renewing = DatabaseSessions(bench.dsn, deadline=1).open("renew")
    keeper = LeaseKeeper(in_flight, renewing, lost.extend, UNHEARD, grace=GRACE, **options)
    in_flight.take([held])
    kept = asyncio.create_task(keeper.run())
    yield lost
    renewing.give_up()
    keeper.close()
    await kept
    await renewing.close()


def claim(bench: Bench, *, start: int = 1) -> tuple[int, ClaimedTask, float]:
    @bench.app.task(lease=LEASE)
    def work() -> None: ...

    bench.enqueue(work.task())
    worker_id, sent_at = bench.ask(REGISTER), monotonic()
    [claimed] = run(bench.connection, claims.claim(worker_id, (), ("work",), 1, start))
    return worker_id, claimed, sent_at


@pytest.mark.parametrize("stop_when_cut_off", [False, True])
async def test_running_task_without_a_recorded_start_is_always_stopped(
    bench: Bench, *, stop_when_cut_off: bool
) -> None:
    worker_id, claimed, sent_at = claim(bench, start=0)
    held = HeldTask(claimed, Idle(), worker_id, sent_at)
    with silence(bench):
        async with keeping(bench, held, stop_when_cut_off=stop_when_cut_off) as lost:
            await until(lambda: lost)

    assert lost == [(held, LostReason.DATABASE)]


async def test_handler_in_its_completing_transaction_is_also_stopped(bench: Bench) -> None:
    """The server may have ended that transaction without the worker's knowledge."""
    worker_id, claimed, sent_at = claim(bench)
    held = HeldTask(claimed, Idle(), worker_id, sent_at)
    held.record_started()
    held.is_finishing = True
    async with keeping(bench, held, stop_when_cut_off=True) as lost:
        await until(lambda: lost)

    assert lost == [(held, LostReason.DATABASE)]


@pytest.mark.parametrize("stop_when_cut_off", [True, False])
async def test_handler_is_stopped_before_its_lease_ends_only_if_configured(
    bench: Bench, *, stop_when_cut_off: bool
) -> None:
    left = list[float]()
    done = asyncio.Event()

    @bench.app.task(lease=LEASE)
    async def charge(ctx: Context) -> None:
        try:
            if ctx.fence == 1:
                await done.wait()
        except asyncio.CancelledError:
            assert ctx.aborted is LostReason.DATABASE
            left.append(bench.ask(LEFT, ctx.task_id))
            raise

    (task_id,) = bench.enqueue(NewTask(handler="charge", key="k"))
    async with bench.working(stop_when_cut_off=stop_when_cut_off):
        await until(lambda: bench.task(task_id).started_at)
        with silence(bench):
            await until(lambda: bench.ask(LEFT, task_id) < -LEASE / 4)
        done.set()
        (task,) = await bench.finished(task_id)

    assert (len(left) == 1, task.fence > 1) == (stop_when_cut_off, stop_when_cut_off)
    assert all(seconds > 0 for seconds in left)
    assert (task.state, task.attempt) == (TaskState.COMPLETED, 1)
