"""Caches a result for all viewers, so that many viewers cost the database no more than one.

    get ──► fresh? ──yes──► the cached result
              │ no
              └──► one query for all callers ──► wait up to `patience` seconds, then use the cached result

Expensive results are kept longer, so that computing them takes only a small share of the time. In all but the largest
pools, no result is older than a minute.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from time import monotonic
from typing import Generic, TypeVar

from rolecall.model.errors import RolecallError

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
SHARE = 0.002
LONGEST = 60.0
RECOVERY = 60.0
log = logging.getLogger("rolecall.service")
TRIES = 3


class SharedResult(Generic[T]):
    """A cached result, which is computed again if it is older than `seconds` (more for expensive results).

    If there is an older result, callers wait for a new one up to `patience` seconds (None: without limit).
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
        self._task: asyncio.Task[None] | None = None

    async def get(self) -> T:
        """Return the result. Raises the error of a failed computation."""
        await self._renew(None if not self._answers else self._patience)
        return self._answers[0]

    async def peek(self) -> T | None:
        """Return the result; None if there is none after `patience`, or the database failed."""
        try:
            await self._renew(self._patience)
        except RolecallError as error:
            log.warning("A result shared by all viewers could not be read: %s", error)
            self._keep_until = self._clock() + self._seconds + RECOVERY
        return self._answers[0] if self._answers else None

    async def _renew(self, patience: float | None) -> None:
        if self._task is None and self._clock() >= self._keep_until:
            self._task = asyncio.create_task(self._answer(), name="rolecall-shared")
            # Nobody may ask for the result again, for example while the server stops.
            self._task.add_done_callback(lambda done: done.cancelled() or done.exception())
        task = self._task
        if task is not None:
            await asyncio.wait({task}, timeout=patience)
            if task.done():
                self._task = None
                task.result()

    async def _answer(self) -> None:
        started = self._clock()
        answer = await self._make()
        finished = self._clock()
        cost = self._cost.add_run(finished - started)
        self._answers = [answer]
        self._keep_until = finished + max(self._seconds, min(LONGEST, cost / SHARE))


class SharedResults(Generic[Key, T]):
    """A shared result for each key. Those of the `most` latest keys are kept."""

    def __init__(
        self, make: Callable[[Key], Awaitable[T]], *, seconds: float, patience: float | None = None, most: int = 200
    ) -> None:
        self._make = make
        self._seconds = seconds
        self._patience = patience
        self._most = most
        self._results: OrderedDict[Key, SharedResult[T]] = OrderedDict()

    async def get(self, key: Key) -> T:
        """Return the result of a key. Raises the error of a failed computation."""
        if key not in self._results:
            self._results[key] = SharedResult(partial(self._make, key), seconds=self._seconds, patience=self._patience)
        self._results.move_to_end(key)
        result = self._results[key]
        if len(self._results) > self._most:
            self._results.popitem(last=False)
        return await result.get()


class Cost:
    """The cost in seconds: the minimum of the last few runs, or 0 until there are enough.

    Single runs may have waited for a connection or a busy machine.
    """

    def __init__(self) -> None:
        self._tries = deque([0.0] * (TRIES - 1), maxlen=TRIES)

    def add_run(self, seconds: float) -> float:
        """Add a run and return the cost."""
        self._tries.append(seconds)
        return min(self._tries)
