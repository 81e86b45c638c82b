"""A worker that retries a start that fails because of its configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rolecall.model.errors import ConfigError
from rolecall.transport.waker import Backoff, comes_within
from rolecall.worker.health import WorkerHealth
from rolecall.worker.worker import Worker

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 5.0

log = logging.getLogger("rolecall.worker")


class PersistentWorker:
    """Creates and runs a worker, again and again while a ConfigError keeps it from starting, until it is stopped."""

    def __init__(self, make: Callable[[], Worker]) -> None:
        self._make = make
        self._worker = make()
        self._stopping = asyncio.Event()
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._logged_problem = ""

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self, *, now: bool = False) -> None:
        self._stopping.set()
        self._worker.stop(now=now)

    def health(self) -> WorkerHealth:
        found = self._worker.health()
        if self._logged_problem and found.alive and not self._worker.working:
            return WorkerHealth(unready=f"it cannot start: {self._logged_problem}")
        return found

    async def run(self) -> None:
        """Run until `stop()`. A ConfigError is logged and the start retried; other errors are raised."""
        while not self.stopping:
            try:
                await self._worker.run_silently()
            except ConfigError as error:
                self._log_problem(str(error))
                await comes_within(self._stopping, self._backoff.next())
                self._worker = self._make()
            else:
                return

    def _log_problem(self, problem: str) -> None:
        level = logging.DEBUG if problem == self._logged_problem else logging.WARNING
        log.log(level, "The worker cannot start yet, trying again: %s", problem)
        self._logged_problem = problem
