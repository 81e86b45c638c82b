"""The Redis queues between dispatchers and workers: one protocol, three kinds.

    kind      from     what                                                          why
    streams   6.2      a stream and a consumer group per lane, scripts, a wake-up     the server tracks takers and times
                       list
    lists     5.0      a list per lane, a processing list per worker, scripts, a      readable with LRANGE
                       wake-up list
    simple    any      the same lists with RPOPLPUSH and BRPOPLPUSH                   for servers that forbid scripts

One script takes as many entries as a worker has room for, from its lanes in order. Commands that read several keys
(XREADGROUP, BLPOP) count per key and could give six tasks to one free slot. Idle workers block on the lanes' wake-up
lists, which have one token per waiting entry, so that each push wakes one worker.

Each lane also has the set `out` of the ids in Redis, with their times. Only the dispatcher that adds an id pushes it,
so that several dispatchers push each id once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from rolecall.config.handoff import HandoffKind
from rolecall.handoff.lanes import Band, Entry, Lane, LaneLength, Message
from rolecall.transport.brokers import RedisLink, RedisRefuses, Script

# In whole seconds, because Redis before 6.0 accepts no fractions.
WAIT = 1
CLOCK = Script("return redis.call('TIME')[1]")
STREAMS_FROM = (6, 2)
SCRIPTS_FROM = (5, 0)


class HandoffQueue(Protocol):
    """Lanes on one server, or on one per band. All methods raise RedisAway.

    A message is in Redis from `push` to `ack`. `stale` finds those of dead workers.
    """

    async def push(self, lane: Lane, messages: Sequence[Message], room: int, ahead: int) -> set[int]:
        """Push, in order, up to `room` messages whose ids are not in Redis yet. Return their ids.

        `ahead` is how many may wait there. Dispatchers are notified once half of them are gone.
        """

    async def take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        """Take waiting entries without blocking: from the first lanes first, oldest first within each."""

    async def wait(self, lanes: Sequence[Lane]) -> bool:
        """Wait up to a second for an entry. Return whether there may be one."""

    async def ack(self, entries: Sequence[Entry], *, again: bool = False) -> None:
        """Remove taken entries. With `again`, their tasks may soon be dispatched again."""

    async def stale(self, lane: Lane, seconds: float) -> list[Entry]:
        """Return the entries taken at least this long ago, by any worker."""

    async def put_back(self, entries: Sequence[Entry]) -> int:
        """Put taken entries of one lane back to the front, in this order.

        Returns how many; the others have been acknowledged in the meantime.
        """

    async def forget_lost(self, lane: Lane, seconds: float) -> int:
        """Remove ids marked at least this long ago that are in no list, so that they can be pushed again."""

    async def lengths(self, lanes: Sequence[Lane]) -> list[LaneLength]:
        """Count waiting and taken entries of each lane."""


async def kind_for(link: RedisLink, kind: HandoffKind = HandoffKind.AUTO) -> HandoffKind:
    """Return the configured kind, or the best one that the server supports."""
    if kind is not HandoffKind.AUTO:
        return kind
    version = await _version(link)
    if not await _has_scripts(link) or version < SCRIPTS_FROM:
        return HandoffKind.SIMPLE
    return HandoffKind.STREAMS if version >= STREAMS_FROM and await _has_streams(link) else HandoffKind.LISTS


class BandQueues:
    """One queue over a server per band."""

    def __init__(self, queues: Mapping[Band, HandoffQueue]) -> None:
        self._queues = queues

    async def push(self, lane: Lane, messages: Sequence[Message], room: int, ahead: int) -> set[int]:
        return await self._queues[lane.band].push(lane, messages, room, ahead)

    async def take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        return await take_in_turn([partial(queue.take, own) for queue, own in self._by_queue(lanes)], most)

    async def wait(self, lanes: Sequence[Lane]) -> bool:
        return await any_of([queue.wait(own) for queue, own in self._by_queue(lanes)])

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
        return [length for queue, own in self._by_queue(lanes) for length in await queue.lengths(own)]

    def _by_queue(self, lanes: Sequence[Lane]) -> list[tuple[HandoffQueue, list[Lane]]]:
        by_band = ((queue, [lane for lane in lanes if lane.band is band]) for band, queue in self._queues.items())
        return [(queue, own) for queue, own in by_band if own]


async def take_in_turn(takes: Sequence[Callable[[int], Awaitable[list[Entry]]]], most: int) -> list[Entry]:
    """Take from one queue after the other until there are enough entries."""
    entries: list[Entry] = []
    for take in takes:
        if len(entries) < most:
            entries += await take(most - len(entries))
    return entries


async def any_of(waits: Sequence[Coroutine[Any, Any, bool]]) -> bool:
    """Wait until one of several waits returns true or all have ended."""
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


async def _has_scripts(link: RedisLink) -> bool:
    try:
        await link.run(CLOCK, [], [])
    except RedisRefuses:
        return False
    return True


async def _has_streams(link: RedisLink) -> bool:
    try:
        await link.call("XLEN", "rolecall:none")
    except RedisRefuses:
        return False
    return True


async def _version(link: RedisLink) -> tuple[int, ...]:
    info = await link.call("INFO", "server")
    version = str(info.get("redis_version", "0.0"))
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
