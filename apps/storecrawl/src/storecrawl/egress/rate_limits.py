"""Rate limiters: requests to a host, or about a store, take turns at intervals set by a rate."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from dataclasses import dataclass

from rolecall import DatabaseUnavailable
from storecrawl.egress.errors import TurnTooFar
from storecrawl.egress.recorder import Recorder

# Turns at a host are reserved this far ahead: a high rate needs few queries, a low one wastes no turns.
AHEAD_SECONDS = 0.25
MOST_STORES = 10_000


@dataclass(slots=True)
class ReservedTurns:
    """Reserved turns: the time of the next one, and how many are left."""

    next_at: float = 0.0
    left: int = 0


class StoreRateLimiter:
    """The turns of stores in this worker. They are not shared, since tasks of a store do not run at once."""

    def __init__(self, rate: float | None) -> None:
        self._interval = 0.0 if rate is None else 1.0 / rate
        self._free_at: OrderedDict[str, float] = OrderedDict()

    async def wait(self, store: str) -> None:
        if not self._interval:
            return
        now = time.monotonic()
        mine = max(self._free_at.pop(store, 0.0), now)
        self._free_at[store] = mine + self._interval
        if len(self._free_at) > MOST_STORES:
            self._free_at.popitem(last=False)
        await asyncio.sleep(mine - now)


class HostRateLimiter:
    """The turns at hosts, shared by all workers of the database; each worker's own while it is unavailable."""

    def __init__(self, rate: float | None, recorder: Recorder | None, *, patience: float) -> None:
        self._interval = 0.0 if rate is None else 1.0 / rate
        self._turns_per_query = max(1, math.ceil(AHEAD_SECONDS / self._interval)) if self._interval else 0
        self._recorder = recorder
        self._patience = patience
        self._reserved: dict[str, ReservedTurns] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def wait(self, host: str) -> None:
        """Wait for the next turn at a host. Raises TurnTooFar."""
        if not self._interval:
            return
        async with self._locks.setdefault(host, asyncio.Lock()):
            wait = await self._next(host) - time.monotonic()
        if wait > self._patience:
            raise TurnTooFar(host, wait)
        await asyncio.sleep(max(0.0, wait))

    async def _next(self, host: str) -> float:
        turns = self._reserved.setdefault(host, ReservedTurns())
        # Turns not used in time are lost: otherwise a quiet hour would end in a burst.
        if not turns.left or turns.next_at + turns.left * self._interval < time.monotonic():
            await self._reserve(host, turns)
        mine = turns.next_at
        turns.next_at += self._interval
        turns.left -= 1
        return mine

    async def _reserve(self, host: str, turns: ReservedTurns) -> None:
        own = max(turns.next_at, time.monotonic())
        try:
            turns.next_at = own if self._recorder is None else await self._first_turn(host, self._recorder)
        except DatabaseUnavailable:
            turns.next_at = own
        turns.left = self._turns_per_query

    async def _first_turn(self, host: str, recorder: Recorder) -> float:
        return await recorder.take_turns(host, self._turns_per_query, self._interval) + time.monotonic()
