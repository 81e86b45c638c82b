"""A thread with a loop of its own for what must go on while a handler blocks the worker's: renewals and
heartbeats.
"""

from __future__ import annotations

import asyncio
import logging
import threading

from rolecall.maintenance.periodic import Periodic
from rolecall.worker.keeper import LeaseKeeper
from rolecall.worker.lag import LagWatch
from rolecall.worker.rollcall import RollCall
from rolecall.worker.session import Session
from rolecall.worker.vitals import Vitals

CLOSING_TIME = 2.0
LAG_CHECK = 0.5
VITALS_CHECK = 1.0

log = logging.getLogger("rolecall.worker")


class Pulse:
    """Runs lease keeper and heartbeat on one connection, and watches how late the worker's loop is and what the
    worker uses.
    """

    def __init__(  # sizes: what it runs, and on what
        self, keeper: LeaseKeeper, roll: RollCall, lag: LagWatch, vitals: Vitals, *, session: Session, beat_every: float
    ) -> None:
        self._keeper = keeper
        self._session = session
        self._heartbeat = Periodic("Heartbeat", lambda: roll.beat(session), every=beat_every, log=log)
        self._lag_watch = Periodic("Lag watch", lag.look, every=LAG_CHECK, log=log)
        self._vitals_watch = Periodic("Watching resources", vitals.look, every=VITALS_CHECK, log=log)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="rolecall-pulse", daemon=True)
        self._standing = threading.Event()

    def start(self) -> None:
        """Start the thread; returns when its loop stands, or cannot."""
        self._thread.start()
        self._standing.wait()

    def beat_now(self) -> None:
        """Beat at once, from any thread: there is something to say, or to hear."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._heartbeat.nudge)

    async def stop(self) -> None:
        """End the thread; what is under way may take a moment to be answered."""
        if self._loop is None or not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._end)
        await asyncio.to_thread(self._thread.join, CLOSING_TIME)

    def _end(self) -> None:
        self._session.give_up()
        self._heartbeat.stop()
        self._lag_watch.stop()
        self._vitals_watch.stop()
        self._keeper.close()

    def _work(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception:
            log.exception("Renewals and heartbeats ended; the leases of this worker will run out")
        finally:
            self._standing.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._standing.set)
        await asyncio.gather(self._keeper.run(), self._heartbeat.run(), self._lag_watch.run(), self._vitals_watch.run())
        await self._session.close()
