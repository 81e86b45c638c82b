"""One answer for all who ask the same within a while, so that many viewers cost the database no more than one.

    ask ──► fresh enough? ──yes──► what was answered last
                │ no
                └──► ask the database once, whoever else comes meanwhile ──► wait a little for it, else the last answer

What costs much is kept long: asking takes no more than a small share of the time, in all but the largest pools, and
nothing is shown that is older than a minute.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Generic, TypeVar

from rolecall.model.errors import RolecallError

__all__ = [
    "Cost",
]

T = TypeVar("T")
SHARE = 0.002
LONGEST = 60.0
RECOVERY = 60.0
log = logging.getLogger("rolecall.service")
TRIES = 3


class Shared(Generic[T]):
    """An answer that is made anew when somebody asks and it is older than `seconds`, or than its cost allows.

    Who asks waits for a new one at most `patience` seconds (None: until it is there), if there is an older one.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[T]],
        *,
        seconds: float,
        patience: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._make = make
        self._seconds = seconds
        self._patience = patience
        self._clock = clock
        self._answers: list[T] = []
        self._cost = Cost()
        self._keep_until = 0.0
        self._making: asyncio.Task[None] | None = None

    async def get(self) -> T:
        """The answer, which may be as old as was said; raises what the first one failed with."""
        await self._renew(None if not self._answers else self._patience)
        return self._answers[0]

    async def peek(self) -> T | None:
        """The answer; None where there is none yet that patience could wait for, or the database would give."""
        try:
            await self._renew(self._patience)
        except RolecallError as error:
            log.warning("Something that all viewers share could not be asked for: %s", error)
            self._keep_until = self._clock() + self._seconds + RECOVERY
        return self._answers[0] if self._answers else None

    async def _renew(self, patience: float | None) -> None:
        if self._making is None and self._clock() >= self._keep_until:
            self._making = asyncio.create_task(self._answer(), name="rolecall-shared")
        making = self._making
        if making is not None:
            await asyncio.wait({making}, timeout=patience)
            if making.done():
                self._making = None
                making.result()

    async def _answer(self) -> None:
        began = self._clock()
        answer = await self._make()
        ended = self._clock()
        cost = self._cost.after(ended - began)
        self._answers = [answer]
        self._keep_until = ended + max(self._seconds, min(LONGEST, cost / SHARE))


class Cost:
    """In seconds: the least that one of the last few tries took; until there are so many, it counts as nothing.

    Any of them may have waited for a connection, or for a busy machine.
    """

    def __init__(self) -> None:
        self._tries = deque([0.0] * (TRIES - 1), maxlen=TRIES)

    def after(self, took: float) -> float:
        """Return it with the latest try, of `took` seconds."""
        self._tries.append(took)
        return min(self._tries)
