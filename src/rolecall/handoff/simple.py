"""Queues without scripts, for servers that are old or forbid scripts: RPOPLPUSH, and BRPOPLPUSH on one lane at a time.

Entries are pushed on the left, because these commands take from the right only. Without a script, a dispatcher can die
after marking an id and before pushing it. `forget_lost` removes such marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import time

from rolecall.handoff.lanes import Entry, Lane, LaneLength, Message, read_message
from rolecall.handoff.lists import length_of_lists, processing_key, stale_of_lists
from rolecall.handoff.queues import WAIT
from rolecall.transport.brokers import RedisLink, RedisRefuses


class SimpleQueue:
    """`HandoffQueue` with basic commands, for the worker or dispatcher of this name."""

    def __init__(self, link: RedisLink, name: str) -> None:
        self._link = link
        self._name = name
        self._turn = 0
        self._early: list[Entry] = []  # the entry taken by a wait
        self._has_blmove = True

    async def push(self, lane: Lane, messages: Sequence[Message], room: int, ahead: int) -> set[int]:  # noqa: ARG002
        now = _now_in_milliseconds()
        pushed: set[int] = set()
        for message in messages:
            if len(pushed) < room and await self._link.call("ZADD", lane.key("out"), "NX", now, message.task_id):
                await self._link.call("LPUSH", lane.key(), message.encode())
                pushed.add(message.task_id)
        return pushed

    async def take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        entries, self._early = self._early, []
        for lane in lanes:
            while len(entries) < most and (raw := await self._move(lane)):
                entries.append(Entry(lane, raw, self._name))
        await self._note(entries)
        return entries

    async def wait(self, lanes: Sequence[Lane]) -> bool:
        self._turn += 1
        lane = lanes[self._turn % len(lanes)]
        # Before an entry can be taken. Otherwise, reclaimers would not find this worker's list.
        await self._link.call("SADD", lane.key("takers"), self._name)
        raw = await self._move_within(lane)
        if raw:
            self._early.append(Entry(lane, raw, self._name))
        return raw is not None

    async def ack(self, entries: Sequence[Entry], *, again: bool = False) -> None:  # noqa: ARG002 - without scripts, nobody is notified
        for entry in entries:
            lane = entry.lane
            await self._link.calls(
                [
                    ("LREM", processing_key(lane, entry.place), 1, entry.raw),
                    ("ZREM", lane.key("out"), entry.task_id or 0),
                ]
            )

    async def stale(self, lane: Lane, seconds: float) -> list[Entry]:
        return await stale_of_lists(self._link, lane, seconds)

    async def put_back(self, entries: Sequence[Entry]) -> int:
        return sum([await self._put_back(entry) for entry in reversed(entries)])

    async def _put_back(self, entry: Entry) -> bool:
        # In this order: a duplicate is rejected once, but an entry in neither list would be lost.
        lane = entry.lane
        await self._link.calls(
            [("RPUSH", lane.key(), entry.raw), ("ZADD", lane.key("out"), _now_in_milliseconds(), entry.task_id)]
        )
        return bool(await self._link.call("LREM", processing_key(lane, entry.place), 1, entry.raw))

    async def forget_lost(self, lane: Lane, seconds: float) -> int:
        marked = await self._link.call(
            "ZRANGEBYSCORE", lane.key("out"), "-inf", _now_in_milliseconds() - int(seconds * 1000)
        )
        waiting = [read_message(raw) for raw in await self._link.call("LRANGE", lane.key(), 0, -1)]
        taken = [entry.message for entry in await stale_of_lists(self._link, lane, 0)]
        present = {message.task_id for message in (*waiting, *taken) if message}
        lost = [task_id for task_id in marked if int(task_id) not in present]
        return sum(await self._link.calls([("ZREM", lane.key("out"), task_id) for task_id in lost]))

    async def lengths(self, lanes: Sequence[Lane]) -> list[LaneLength]:
        return [await length_of_lists(self._link, lane, first=-1) for lane in lanes]

    async def _move(self, lane: Lane) -> bytes | None:
        await self._link.call("SADD", lane.key("takers"), self._name)
        raw: bytes | None = await self._link.call("RPOPLPUSH", lane.key(), processing_key(lane, self._name))
        return raw

    async def _move_within(self, lane: Lane) -> bytes | None:
        raw: bytes | None
        source, target = lane.key(), processing_key(lane, self._name)
        if self._has_blmove:
            try:
                raw = await self._link.call("BLMOVE", source, target, "RIGHT", "LEFT", WAIT)
            except RedisRefuses:
                self._has_blmove = False
            else:
                return raw
        raw = await self._link.call("BRPOPLPUSH", source, target, WAIT)
        return raw

    async def _note(self, entries: Sequence[Entry]) -> None:
        now = _now_in_milliseconds()
        await self._link.calls([("ZADD", entry.lane.key("out"), "XX", now, entry.task_id or 0) for entry in entries])


def _now_in_milliseconds() -> int:
    # Servers without scripts have no TIME inside one. Reclaimers tolerate differing clocks.
    return int(time() * 1000)
