"""The heartbeat thread: renewals, heartbeats and the lag watch, in a separate event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from time import monotonic

from rolecall.maintenance.periodic import Periodic
from rolecall.model.outcomes import Returned
from rolecall.model.states import LostReason
from rolecall.sql import claims
from rolecall.worker.blocked_loop import BLOCKED_AFTER, blocking_callback
from rolecall.worker.completer import by_worker
from rolecall.worker.in_flight import RENEWALS_PER_LEASE, HeldTask, InFlight
from rolecall.worker.leases import LeaseKeeper
from rolecall.worker.local_queue import LocalQueue
from rolecall.worker.registration import Registration
from rolecall.worker.resources import ResourceMonitor
from rolecall.worker.session import DatabaseSession
from rolecall.worker.stacks import StackReporter

CLOSING_TIME = 2.0
LAG_CHECK = 0.2
RESOURCE_CHECK = 1.0
STACK_CHECK = 1.0
USUAL_LEASE = 60.0

log = logging.getLogger("rolecall.worker")


class HeartbeatThread:
    """Renews leases and sends heartbeats on one connection, and watches the lag of the worker's loop and the
    worker's resource use.
    """

    def __init__(  # sizes: everything that it runs, and the session
        self,
        keeper: LeaseKeeper,
        registration: Registration,
        lag: LagWatch,
        resource_monitor: ResourceMonitor,
        stacks: StackReporter,
        *,
        session: DatabaseSession,
        beat_every: float,
    ) -> None:
        self._keeper = keeper
        self._session = session
        self._heartbeat = Periodic("Heartbeat", lambda: registration.beat(session), every=beat_every, log=log)
        self._stack_check = Periodic("Reporting stacks", stacks.check, every=STACK_CHECK, log=log)
        self._loops = [
            self._heartbeat,
            Periodic("Lag watch", lag.check, every=LAG_CHECK, log=log),
            self._stack_check,
        ]
        if resource_monitor.has_threshold:
            self._loops.append(Periodic("Watching resources", resource_monitor.check, every=RESOURCE_CHECK, log=log))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="rolecall-heartbeat", daemon=True)
        self._has_loop = threading.Event()
        self.failed = False

    def start(self) -> None:
        """Start the thread; return when its loop runs or has failed."""
        self._thread.start()
        self._has_loop.wait()

    def beat_now(self) -> None:
        """Send a heartbeat at once. Can be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._heartbeat.nudge)

    def report_stacks_now(self) -> None:
        """Answer requests for stacks at once, if requests are expected. Can be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stack_check.nudge)

    async def stop(self) -> None:
        """End the thread. Waits up to CLOSING_TIME seconds for calls in progress."""
        if self._loop is None or not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._end)
        await asyncio.to_thread(self._thread.join, CLOSING_TIME)

    def _end(self) -> None:
        self._session.give_up()
        for loop in self._loops:
            loop.stop()
        self._keeper.close()

    def _work(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception:
            self.failed = True
            log.exception("Renewals and heartbeats ended; the leases of this worker will run out")
        finally:
            self._has_loop.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._has_loop.set)
        await asyncio.gather(self._keeper.run(), *(loop.run() for loop in self._loops))
        await self._session.close()
        self._loop = None


class LagWatch:
    """Pings the worker's loop. Warns, once per blockage, after a quarter of the shortest lease without an answer.

    While the loop is blocked, this records the starts that the loop cannot report, because the handler that blocks
    it has started. After a second, it returns the tasks that have not started: their leases would be renewed here
    for an unknown time. The task that blocks the loop stays with the worker until its deadline.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, in_flight: InFlight, local_queue: LocalQueue, session: DatabaseSession
    ) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._in_flight = in_flight
        self._queue = local_queue
        self._session = session
        self._pinged_at: float | None = None
        self._warned = False

    def lag(self) -> float:
        sent_at = self._pinged_at
        return 0.0 if sent_at is None else monotonic() - sent_at

    async def check(self) -> None:
        if self._pinged_at is None:
            self._pinged_at = monotonic()
            self._loop.call_soon_threadsafe(self._answer)
            return
        lag = monotonic() - self._pinged_at
        if not self._warned:
            self._judge(lag)
        if begun := [
            held for held in self._in_flight.all() if held.began_at and not (held.is_started or held.has_ended)
        ]:
            await self._record_starts(begun)
        if lag > BLOCKED_AFTER and (waiting := self._queue.clear()):
            await self._give_back(waiting, lag)

    def _judge(self, lag: float) -> None:
        held_tasks = self._in_flight.all()
        if lag > min((held.task.lease_seconds for held in held_tasks), default=USUAL_LEASE) / RENEWALS_PER_LEASE:
            self._warned = True
            text = "The event loop has been blocked for %.1f s by %s at %s (make it a plain `def`)"
            log.warning(text, lag, *blocking_callback(self._loop, self._loop_thread))

    async def _record_starts(self, begun: Sequence[HeldTask]) -> None:
        for worker_id, group in by_worker(begun):
            answers = await self._session.run(
                claims.start(worker_id, [(held.task.id, held.task.fence) for held in group])
            )
            for held in group:
                if held.task.id not in answers:
                    held.record_started()

    async def _give_back(self, waiting: Sequence[HeldTask], lag: float) -> None:
        text = "The event loop has been blocked for %.1f s: %d tasks are returned before their start"
        log.warning(text, lag, len(waiting))
        for held in waiting:
            held.abort_reason = LostReason.SHUTDOWN  # its lease is no longer renewed
        try:
            for worker_id, group in by_worker(waiting):
                reports = [Returned(id=held.task.id, fence=held.task.fence) for held in group]
                await self._session.run(claims.finish_free(worker_id, reports))
        finally:
            self._loop.call_soon_threadsafe(self._in_flight.drop, waiting)

    def _answer(self) -> None:
        self._pinged_at = None
        self._warned = False
