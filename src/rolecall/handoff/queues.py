"""The queues in Redis between a dispatcher and the workers: one protocol, three kinds.

    kind      from     what                                                          why
    streams   6.2      a stream and a consumer group a lane, scripts, a bell list     who has what, and since when, is
                                                                                      the server's to know
    lists     5.0      a list a lane, a processing list a worker, scripts, a bell     can be read with LRANGE
    simple    any      the same lists by RPOPLPUSH and BRPOPLPUSH                     for servers that refuse scripts

A worker takes from all its lanes by one script, in their order, and as many as it has room for: what waits on several
keys at once (XREADGROUP, BLPOP) counts for each of them, and would have a worker with one free slot hold six tasks. It
sleeps on the lanes' *bells*: lists of as many tokens as entries wait, so that each push wakes one worker.

Beside its entries a lane has the set `out`: which ids lie in Redis, and since when. Only who adds an id pushes it, so
any number of dispatchers push each once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from rolecall.brokers import RedisLink, RedisRefuses, Script
from rolecall.config.handoff import HandoffKind
from rolecall.handoff.lanes import Band, Entry, Lane, LaneLength, Message

__all__ = ["BandQueues", "HandoffQueue", "kind_for"]

# Seconds: redis takes whole ones only before 6.0.
WAIT = 1
CLOCK = Script("return redis.call('TIME')[1]")
STREAMS_FROM = (6, 2)
SCRIPTS_FROM = (5, 0)


class HandoffQueue(Protocol):
    """Lanes of one server, or of one for each band. Everything raises RedisAway.

    A message is in Redis from `push` to `ack`; whoever took it and died is known by `stale`.
    """

    async def push(self, lane: Lane, messages: Sequence[Message], room: int, ahead: int) -> set[int]:
        """Push, in this order, up to `room` of those whose ids are not in Redis already; return their ids.

        `ahead` is how many may wait there: when half of them are gone, dispatchers hear of it.
        """

    async def take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        """Take what waits, at once: from the first lanes first, oldest first within each."""

    async def wait(self, lanes: Sequence[Lane]) -> bool:
        """Wait a second at most for something to take; return whether there may be something."""

    async def ack(self, entries: Sequence[Entry], *, again: bool = False) -> None:
        """Remove taken entries for good; `again`: their tasks may be handed over once more, and soon."""

    async def stale(self, lane: Lane, seconds: float) -> list[Entry]:
        """List what was taken at least so long ago, whoever took it."""

    async def put_back(self, entries: Sequence[Entry]) -> int:
        """Put what was taken from one lane back to where it is taken next, in this order.

        Returns how many those are; the others have been acknowledged meanwhile.
        """

    async def forget_lost(self, lane: Lane, seconds: float) -> int:
        """Forget ids that have been marked as in Redis for so long and lie nowhere: they can be pushed again."""

    async def lengths(self, lanes: Sequence[Lane]) -> list[LaneLength]:
        """Count what waits and what is taken, lane by lane."""


async def kind_for(link: RedisLink, wanted: HandoffKind = HandoffKind.AUTO) -> HandoffKind:
    """Find out which kind a server can, if none is wanted."""
    if wanted is not HandoffKind.AUTO:
        return wanted
    version = await _version(link)
    if not await _takes_scripts(link) or version < SCRIPTS_FROM:
        return HandoffKind.SIMPLE
    return HandoffKind.STREAMS if version >= STREAMS_FROM and await _knows_streams(link) else HandoffKind.LISTS


class BandQueues:
    """Each band on a server of its own, as one queue."""

    def __init__(self, queues: Mapping[Band, HandoffQueue]) -> None:
        self._queues = queues

    async def push(self, lane: Lane, messages: Sequence[Message], room: int, ahead: int) -> set[int]:
        return await self._queues[lane.band].push(lane, messages, room, ahead)

    async def take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        return await take_in_turn([partial(queue.take, own) for queue, own in self._apart(lanes)], most)

    async def wait(self, lanes: Sequence[Lane]) -> bool:
        return await any_of([queue.wait(own) for queue, own in self._apart(lanes)])

    async def ack(self, entries: Sequence[Entry], *, again: bool = False) -> None:
        for band, queue in self._queues.items():
            if own := [entry for entry in entries if entry.lane.band is band]:
                await queue.ack(own, again=again)

    async def stale(self, lane: Lane, seconds: float) -> list[Entry]:
        return await self._queues[lane.band].stale(lane, seconds)

    async def put_back(self, entries: Sequence[Entry]) -> int:
        return await self._queues[entries[0].lane.band].put_back(entries) if entries else 0

    async def forget_lost(self, lane: Lane, seconds: float) -> int:
        return await self._queues[lane.band].forget_lost(lane, seconds)

    async def lengths(self, lanes: Sequence[Lane]) -> list[LaneLength]:
        return [length for queue, own in self._apart(lanes) for length in await queue.lengths(own)]

    def _apart(self, lanes: Sequence[Lane]) -> list[tuple[HandoffQueue, list[Lane]]]:
        by_band = ((queue, [lane for lane in lanes if lane.band is band]) for band, queue in self._queues.items())
        return [(queue, own) for queue, own in by_band if own]


async def take_in_turn(takes: Sequence[Callable[[int], Awaitable[list[Entry]]]], most: int) -> list[Entry]:
    """Take from one after the other, until there are enough."""
    entries: list[Entry] = []
    for take in takes:
        if len(entries) < most:
            entries += await take(most - len(entries))
    return entries


async def any_of(waits: Sequence[Coroutine[Any, Any, bool]]) -> bool:
    """Wait until one of several waits ends with true, or all have ended."""
    if len(waits) == 1:
        return await waits[0]
    waiting = {asyncio.create_task(wait) for wait in waits}
    try:
        for done in asyncio.as_completed(waiting):
            if await done:
                return True
        return False
    finally:
        for wait in waiting:
            wait.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _takes_scripts(link: RedisLink) -> bool:
    try:
        await link.run(CLOCK, [], [])
    except RedisRefuses:
        return False
    return True


async def _knows_streams(link: RedisLink) -> bool:
    try:
        await link.call("XLEN", "rolecall:none")
    except RedisRefuses:
        return False
    return True


async def _version(link: RedisLink) -> tuple[int, ...]:
    told = await link.call("INFO", "server")
    version = str(told.get("redis_version", "0.0"))
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
