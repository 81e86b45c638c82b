"""One wait for work: it ends by a nudge or by its time, and a nudge that comes before it is not lost."""

from __future__ import annotations

import asyncio


class Waker:
    """A door bell: any number of nudges before or during a wait end one wait."""

    __slots__ = ("_nudged", "_waiting")

    def __init__(self) -> None:
        self._nudged = False
        self._waiting: asyncio.Future[None] | None = None

    def nudge(self) -> None:
        """End the wait that is under way, or else the next one."""
        self._nudged = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def forget(self) -> None:
        """Drop nudges that a look after them has already answered; call it right before that look."""
        self._nudged = False

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for a nudge, at most `seconds`; return whether one came."""
        if not self._nudged:
            await self._sleep(seconds)
        nudged, self._nudged = self._nudged, False
        return nudged

    async def _sleep(self, seconds: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(seconds, self._time_is_up) if seconds is not None else None
        try:
            await self._waiting
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()

    def _time_is_up(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
