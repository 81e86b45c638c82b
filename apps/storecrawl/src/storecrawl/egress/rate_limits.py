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

    def __init__(self) -> None:
        self._free_at: OrderedDict[str, float] = OrderedDict()

    async def wait(self, store: str, rate: float | None) -> None:
        """Wait for the next turn of a store at this rate; no rate means no limit."""
        if rate is None:
            return
        now = time.monotonic()
        mine = max(self._free_at.pop(store, 0.0), now)
        self._free_at[store] = mine + 1.0 / rate
        if len(self._free_at) > MOST_STORES:
            self._free_at.popitem(last=False)
        await asyncio.sleep(mine - now)


class HostRateLimiter:
    """The turns at hosts, shared by all workers of the database; each worker's own while it is unavailable."""

    def __init__(self, recorder: Recorder | None, *, patience: float) -> None:
        self._recorder = recorder
        self._patience = patience
        self._reserved: dict[str, ReservedTurns] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def wait(self, host: str, rate: float | None) -> None:
        """Wait for the next turn at a host at this rate; no rate means no limit. Raises TurnTooFar."""
        if rate is None:
            return
        async with self._locks.setdefault(host, asyncio.Lock()):
            wait = await self._next(host, 1.0 / rate) - time.monotonic()
        if wait > self._patience:
            raise TurnTooFar(host, wait)
        await asyncio.sleep(max(0.0, wait))

    async def _next(self, host: str, interval: float) -> float:
        turns = self._reserved.setdefault(host, ReservedTurns())
        # Turns not used in time are lost: otherwise a quiet hour would end in a burst.
        if not turns.left or turns.next_at + turns.left * interval < time.monotonic():
            await self._reserve(host, turns, interval)
        mine = turns.next_at
        turns.next_at += interval
        turns.left -= 1
        return mine

    async def _reserve(self, host: str, turns: ReservedTurns, interval: float) -> None:
        own, count = max(turns.next_at, time.monotonic()), max(1, math.ceil(AHEAD_SECONDS / interval))
        try:
            wait = None if self._recorder is None else await self._recorder.take_turns(host, count, interval)
            turns.next_at = own if wait is None else wait + time.monotonic()
        except DatabaseUnavailable:
            turns.next_at = own
        turns.left = count
