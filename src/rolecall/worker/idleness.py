"""Ends a worker when nothing is left to do for it: for cron jobs, CI and tests.

What is left: tasks of its roles and handlers that run (anywhere), that are due, or that have run before and come back
within five minutes (a retry, a snooze). Not left: what is scheduled for later, and what nobody may claim, as its role
is paused. Who waits for another task (for its key, a need, a child) counts by the one it waits for. Looks are repeated,
as somebody may be about to commit more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from rolecall.sql import claims
from rolecall.worker.registration import Registration
from rolecall.worker.session import DatabaseSession

LOOKS = 3
BETWEEN_LOOKS = 1.0

log = logging.getLogger("rolecall.worker")


class IdleWatch:
    """Looks until nothing was left at several looks in a row, a second apart, and then calls `leave`."""

    def __init__(
        self,
        session: DatabaseSession,
        registration: Registration,
        roles: Sequence[str],
        leave: Callable[[], None],
    ) -> None:
        self._session = session
        self._registration = registration
        self._roles = roles
        self._leave = leave

    async def run(self) -> None:
        """Return once it has called `leave`."""
        looks = 0
        while looks < LOOKS:
            await asyncio.sleep(BETWEEN_LOOKS)
            looks = 0 if await self._is_work_left() else looks + 1
        log.info("Nothing is left to do")
        self._leave()

    async def _is_work_left(self) -> bool:
        known = self._registration
        return await self._session.run(claims.is_work_left(known.worker_id, self._roles, known.info.handlers))
