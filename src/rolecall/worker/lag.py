"""Notices from outside that a handler blocks the worker's loop, and gives back what waits behind it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from time import monotonic

from rolecall.model.outcomes import Returned
from rolecall.model.states import LostReason
from rolecall.sql import tasks
from rolecall.worker.board import Board
from rolecall.worker.held import LOOKS_PER_LEASE, Hands, Held, by_worker
from rolecall.worker.session import Session

USUAL_LEASE = 60.0
BLOCKED_AFTER = 1.0

log = logging.getLogger("rolecall.worker")


class LagWatch:
    """Pings the loop and warns, once a blockage, when the answer takes longer than a quarter of the
    shortest lease.

    After a second without an answer it gives back what has not begun: the leases of a blocked worker are kept
    from here, and who knows for how long. What blocks the loop stays the worker's until its deadline.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, hands: Hands, board: Board, session: Session) -> None:
        self._loop = loop
        self._hands = hands
        self._board = board
        self._session = session
        self._asked_at: float | None = None
        self._warned = False

    async def look(self) -> None:
        """Judge the last ping, or send the next one."""
        if self._asked_at is None:
            self._asked_at = monotonic()
            self._loop.call_soon_threadsafe(self._answer)
            return
        lag = monotonic() - self._asked_at
        if not self._warned:
            self._judge(lag)
        if lag > BLOCKED_AFTER and (waiting := self._board.clear()):
            await self._give_back(waiting, lag)

    def _judge(self, lag: float) -> None:
        held = self._hands.all()
        if lag > min((each.task.lease_seconds for each in held), default=USUAL_LEASE) / LOOKS_PER_LEASE:
            self._warned = True
            culprits = {each.task.handler for each in held if each.slot is not None and not each.ended}
            names = ", ".join(sorted(culprits)) or "something"
            log.warning("The loop has not turned for %.1f s: %s blocks it (make it a plain `def`)", lag, names)

    async def _give_back(self, waiting: Sequence[Held], lag: float) -> None:
        log.warning("The loop has not turned for %.1f s: %d tasks are given back, not begun", lag, len(waiting))
        for held in waiting:
            held.aborted = LostReason.SHUTDOWN  # nobody renews it from now on
        try:
            for worker_id, some in by_worker(waiting):
                reports = [Returned(id=held.task.id, fence=held.task.fence) for held in some]
                await self._session.run(tasks.finish_free(worker_id, reports))
        finally:
            self._loop.call_soon_threadsafe(self._hands.drop, waiting)

    def _answer(self) -> None:
        self._asked_at = None
        self._warned = False
