"""The lease keeper checks a task as soon as a notification could concern it."""

from __future__ import annotations

import asyncio
from time import monotonic

from rolecall import LostReason
from rolecall.db.run import run
from rolecall.model.tasks import ClaimedTask
from rolecall.sql import claims
from rolecall.telemetry import Emitter
from rolecall.worker.afterwards import AfterCommitCalls
from rolecall.worker.completer import Completer
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import HeldTask, InFlight, RunnerSlot
from rolecall.worker.leases import Aborter, LeaseKeeper, LostTask
from rolecall.worker.local_queue import LocalQueue
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.reporting import LogReporter
from rolecall.worker.session import DatabaseSessions
from tests.worker.bench import SOON, Bench, until

REGISTER = "select rolecall.register_worker('w', '{}', '{work}', 1, 'h', 1, '0')"
UNHEARD = WorkerEvents(Emitter(), "w")


class Idle:
    """A runner that runs nothing: the task is only held."""

    interruptible = False
    max_tasks = 1

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None: ...


def claim(bench: Bench, worker_id: int) -> ClaimedTask:
    @bench.app.task(lease=60)
    def work() -> None: ...

    bench.enqueue(work.task())
    [claimed] = run(bench.connection, claims.claim(worker_id, (), ("work",), 1, 1))
    return claimed


async def test_cancellation_received_during_a_claim_reaches_the_claimed_tasks(bench: Bench) -> None:
    in_flight, lost = InFlight(), list[LostTask]()
    renewing = DatabaseSessions(bench.dsn, deadline=SOON).open("renew")
    keeper = LeaseKeeper(in_flight, renewing, lost.extend, UNHEARD)
    keeping = asyncio.create_task(keeper.run())
    worker_id = bench.ask(REGISTER)
    held = HeldTask(claim(bench, worker_id), Idle(), worker_id, monotonic())
    bench.cancel(held.task.id)
    keeper.renew_all_now()
    await until(lambda: not in_flight.renews_all)

    in_flight.take([held])
    await until(lambda: lost, SOON)
    keeper.close()
    await keeping
    await renewing.close()

    assert lost == [(held, LostReason.CANCELLED)]


async def test_handler_that_completed_its_task_in_its_own_transaction_is_not_aborted(bench: Bench) -> None:
    """A renewal that was under way during the commit gets the same answer."""
    in_flight, worker_id = InFlight(), bench.ask(REGISTER)
    completer = Completer(
        DatabaseSessions(bench.dsn, deadline=SOON).open("settle"),
        in_flight,
        LogReporter(in_flight),
        UNHEARD,
        lambda: None,
        AfterCommitCalls(),
    )
    aborter = Aborter(LocalQueue(completer.give_back), Outcomes(completer, UNHEARD, {}, {}), grace=SOON)
    held = HeldTask(claim(bench, worker_id), Idle(), worker_id, monotonic())
    in_flight.take([held])
    held.is_finishing = True

    aborter.abort(held, LostReason.COMPLETED)
    assert (held.abort_reason, len(in_flight)) == (None, 1)

    aborter.abort(held, LostReason.DELETED)
    assert (held.abort_reason, len(in_flight)) == (LostReason.DELETED, 0)
