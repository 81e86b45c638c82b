"""Notices from outside that a handler blocks the worker's loop."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic

from rolecall.worker.held import LOOKS_PER_LEASE, Hands

USUAL_LEASE = 60.0

log = logging.getLogger("rolecall.worker")


class LagWatch:
    """Pings the loop and warns, once a blockage, when the answer takes longer than a quarter of the
    shortest lease.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, hands: Hands) -> None:
        self._loop = loop
        self._hands = hands
        self._asked_at: float | None = None
        self._warned = False

    async def look(self) -> None:
        """Judge the last ping, or send the next one."""
        if self._asked_at is None:
            self._asked_at = monotonic()
            self._loop.call_soon_threadsafe(self._answer)
        elif not self._warned:
            self._judge(monotonic() - self._asked_at)

    def _judge(self, lag: float) -> None:
        held = self._hands.all()
        if lag > min((each.task.lease_seconds for each in held), default=USUAL_LEASE) / LOOKS_PER_LEASE:
            self._warned = True
            culprits = {each.task.handler for each in held if each.slot is not None and not each.ended}
            names = ", ".join(sorted(culprits)) or "something"
            log.warning("The loop has not turned for %.1f s: %s blocks it (make it a plain `def`)", lag, names)

    def _answer(self) -> None:
        self._asked_at = None
        self._warned = False
