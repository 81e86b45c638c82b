"""The loop in which duties, heartbeats and watches run: jitter, backoff after errors, and a clean stop."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable

from rolecall.model.errors import RolecallError
from rolecall.transport.waker import Backoff, Waker

SPREAD = 0.1
LONGEST_BACKOFF = 60.0


class Periodic:
    """Calls `once` every `every` seconds, give or take a tenth, until `stop()`.

    `once` may return the seconds until its next call, and `nudge()` calls it at once. An error is logged and does
    not end the loop: the next call comes after a growing delay.
    """

    def __init__(
        self, name: str, once: Callable[[], Awaitable[float | None]], *, every: float, log: logging.Logger
    ) -> None:
        self._name = name
        self._once = once
        self._every = every
        self._log = log
        self._waker = Waker()
        self._backoff = Backoff(min(1.0, every), max(LONGEST_BACKOFF, every))
        self._stopping = False

    def stop(self) -> None:
        """End the loop after the current call."""
        self._stopping = True
        self._waker.nudge()

    def nudge(self) -> None:
        self._waker.nudge()

    async def run(self) -> None:
        """Run the loop. The first call comes at once."""
        while not self._stopping:
            delay = await self._attempt()
            if not self._stopping:
                await self._waker.wait(delay)

    async def _attempt(self) -> float:
        try:
            again_in = await self._once()
        except Exception as error:  # noqa: BLE001 - a duty may fail in any way and must be tried again
            if not self._stopping:
                log_failure(self._log, self._name, error)
            return self._backoff.next()
        self._backoff.reset()
        return self._every * random.uniform(1 - SPREAD, 1 + SPREAD) if again_in is None else again_in


def log_failure(log: logging.Logger, name: str, error: Exception) -> None:
    """Log an error that will be retried."""
    # A RolecallError has a sufficient message. Any other error is a bug and needs its traceback.
    expected = isinstance(error, RolecallError)
    log.warning("%s failed: %s", name, error, exc_info=None if expected else error)
