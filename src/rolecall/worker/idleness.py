"""Ends a worker when no work is left, for cron jobs, CI and tests.

Work is a task of the worker's roles and handlers that runs (on any worker), is due, or has run before and is due
again within five minutes (a retry or snooze). Tasks that are scheduled for later, and tasks of paused roles, are
not. A task that waits for another (a key, a need, a child) counts as work if that one does. The check is repeated,
because another transaction may be about to commit more tasks.
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
    """Calls `leave` after several consecutive checks, a second apart, have found no work."""

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
        looks = 0
        while looks < LOOKS:
            await asyncio.sleep(BETWEEN_LOOKS)
            looks = 0 if await self._is_work_left() else looks + 1
        log.info("Nothing is left to do")
        self._leave()

    async def _is_work_left(self) -> bool:
        known = self._registration
        return await self._session.run(claims.is_work_left(known.worker_id, self._roles, known.info.handlers))
