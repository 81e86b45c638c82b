"""One loop for everything that happens again and again: spread, patient with errors, ended between two
runs.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable

from rolecall.model.errors import RolecallError
from rolecall.wake.waker import Backoff, Waker

SPREAD = 0.1
LONGEST_BACKOFF = 60.0


class Periodic:
    """Calls `once` every `every` seconds, give or take a tenth, until `stop()`; `nudge()` brings the next
    call forward.

    An error is logged and never ends the loop: the next call comes after a growing delay.
    """

    def __init__(self, name: str, once: Callable[[], Awaitable[None]], *, every: float, log: logging.Logger) -> None:
        self._name = name
        self._once = once
        self._every = every
        self._log = log
        self._waker = Waker()
        self._backoff = Backoff(min(1.0, every), max(LONGEST_BACKOFF, every))
        self._stopping = False

    def stop(self) -> None:
        """End the loop after the call that is under way."""
        self._stopping = True
        self._waker.nudge()

    def nudge(self) -> None:
        """Call `once` now instead of at its time."""
        self._waker.nudge()

    async def run(self) -> None:
        """Run the loop: the first call comes at once."""
        while not self._stopping:
            delay = await self._attempt()
            if not self._stopping:
                await self._waker.wait(delay)

    async def _attempt(self) -> float:
        try:
            await self._once()
        except Exception as error:  # noqa: BLE001 - a duty may fail in any way and must be tried again
            if not self._stopping:
                self._complain(error)
            return self._backoff.next()
        self._backoff.reset()
        return self._every * random.uniform(1 - SPREAD, 1 + SPREAD)

    def _complain(self, error: Exception) -> None:
        # An error of our own says what happened; any other one is a bug and needs its traceback.
        expected = isinstance(error, RolecallError)
        self._log.warning("%s failed: %s", self._name, error, exc_info=None if expected else error)
