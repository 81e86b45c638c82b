"""Queues as lists with scripts: RPUSH at one end, taken from the other, first in, first out.

rolecall:{mail}:low                   waiting entries, oldest on the left
rolecall:{mail}:low:processing:<id>   entries taken by the worker <id>
rolecall:{mail}:low:takers            the workers that have such a list
rolecall:{mail}:low:out               the ids in any of these, by the time of their last move (ms)
rolecall:{mail}:low:bell              the wake-up list: one token for each waiting entry
rolecall:{mail}:low:ahead             how many entries may wait
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from rolecall.handoff.lanes import REFILL, Entry, Lane, LaneLength, Message, by_role, read_message
from rolecall.handoff.queues import WAIT, any_of, take_in_turn
from rolecall.transport.brokers import RedisLink, Script

# Milliseconds for which a lane remembers how many entries may wait. Each push renews it.
AHEAD_FOR = 60_000
ENTRY_ID = """'"task_id"%s*:%s*(%d+)'"""
NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
# After a take: shorten the wake-up list to the remaining entries, and notify dispatchers if the lane is half empty.
TELL = f"""
local function tell(role, left, bell, ahead)
    if left == 0 then redis.call('DEL', bell) else redis.call('LTRIM', bell, 0, left - 1) end
    if left * 2 <= (tonumber(redis.call('GET', ahead) or 0) or 0) then redis.call('PUBLISH', '{REFILL}', role) end
end
"""
PUSH = Script(f"""{NOW}
local list, out, bell, ahead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
redis.call('SET', ahead, ARGV[1], 'PX', {AHEAD_FOR})
local pushed = {{}}
for i = 3, #ARGV, 2 do
    if #pushed == tonumber(ARGV[2]) then break end
    if redis.call('ZADD', out, 'NX', now, ARGV[i]) == 1 then
        redis.call('RPUSH', list, ARGV[i + 1])
        redis.call('RPUSH', bell, 1)
        pushed[#pushed + 1] = tonumber(ARGV[i])
    end
end
return pushed
""")
TAKE = Script(f"""{NOW}{TELL}
local most = tonumber(ARGV[1])
local taken = {{}}
for lane = 0, #KEYS / 6 - 1 do
    local list, processing, takers, out, bell, ahead = unpack(KEYS, lane * 6 + 1, lane * 6 + 6)
    local before = #taken
    while #taken < most do
        local message = redis.call('LPOP', list)
        if not message then break end
        redis.call('RPUSH', processing, message)
        local id = string.match(message, {ENTRY_ID})
        if id then redis.call('ZADD', out, 'XX', now, id) end
        taken[#taken + 1] = {{lane, message}}
    end
    if #taken > before then
        redis.call('SADD', takers, ARGV[2])
        tell(ARGV[3 + lane], redis.call('LLEN', list), bell, ahead)
    end
end
return taken
""")
ACK = Script(f"""
local processing, takers, out = KEYS[1], KEYS[2], KEYS[3]
for i = 4, #ARGV, 2 do
    redis.call('LREM', processing, 1, ARGV[i])
    if ARGV[i + 1] ~= '' then redis.call('ZREM', out, ARGV[i + 1]) end
end
if redis.call('EXISTS', processing) == 0 then redis.call('SREM', takers, ARGV[1]) end
if ARGV[2] == '1' then redis.call('PUBLISH', '{REFILL}', ARGV[3]) end
""")
PUT_BACK = Script(f"""{NOW}
local processing, list, out, bell = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local there = redis.call('LREM', processing, 1, ARGV[1])
if there == 1 then
    redis.call('LPUSH', list, ARGV[1])
    redis.call('ZADD', out, now, ARGV[2])
    redis.call('LPUSH', bell, 1)
end
return there
""")
# The processing lists are named dynamically, but are in the same cluster slot.
FORGET_LOST = Script(f"""{NOW}
local list, takers, out = KEYS[1], KEYS[2], KEYS[3]
local lists = {{list}}
for _, taker in ipairs(redis.call('SMEMBERS', takers)) do
    lists[#lists + 1] = list .. ':processing:' .. taker
end
local there = {{}}
for _, key in ipairs(lists) do
    for _, message in ipairs(redis.call('LRANGE', key, 0, -1)) do
        local id = string.match(message, {ENTRY_ID})
        if id then there[id] = true end
    end
end
local forgotten = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', out, '-inf', now - ARGV[1])) do
    if not there[id] then forgotten = forgotten + redis.call('ZREM', out, id) end
end
return forgotten
""")


class ListQueue:
    """`HandoffQueue` with lists and scripts, for the worker or dispatcher of this name."""

    def __init__(self, link: RedisLink, name: str) -> None:
        self._link = link
        self._name = name

    async def push(self, lane: Lane, messages: Sequence[Message], room: int, ahead: int) -> set[int]:
        keys = [lane.key(), lane.key("out"), lane.key("bell"), lane.key("ahead")]
        arguments = [part for message in messages for part in (message.task_id, message.encode())]
        return set(await self._link.run(PUSH, keys, [ahead, room, *arguments]))

    async def take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        return await take_in_turn([partial(self._take, group) for group in group_lanes(lanes, self._link)], most)

    async def wait(self, lanes: Sequence[Lane]) -> bool:
        return await wait_for_bell(self._link, lanes)

    async def ack(self, entries: Sequence[Entry], *, again: bool = False) -> None:
        for (lane, holder), group in groupby(sorted(entries, key=_lane_and_place), _lane_and_place):
            keys = [processing_key(lane, holder), lane.key("takers"), lane.key("out")]
            arguments = [part for entry in group for part in (entry.raw, entry.task_id or "")]
            await self._link.run(ACK, keys, [holder, int(again), lane.role, *arguments])

    async def stale(self, lane: Lane, seconds: float) -> list[Entry]:
        return await stale_of_lists(self._link, lane, seconds)

    async def put_back(self, entries: Sequence[Entry]) -> int:
        # Each is put in front of the previous one.
        return sum([await self._put_back(entry) for entry in reversed(entries)])

    async def _put_back(self, entry: Entry) -> bool:
        lane = entry.lane
        keys = [processing_key(lane, entry.place), lane.key(), lane.key("out"), lane.key("bell")]
        return bool(await self._link.run(PUT_BACK, keys, [entry.raw, entry.task_id]))

    async def forget_lost(self, lane: Lane, seconds: float) -> int:
        keys = [lane.key(), lane.key("takers"), lane.key("out")]
        forgotten: int = await self._link.run(FORGET_LOST, keys, [int(seconds * 1000)])
        return forgotten

    async def lengths(self, lanes: Sequence[Lane]) -> list[LaneLength]:
        return [await length_of_lists(self._link, lane) for lane in lanes]

    async def _take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        keys = [key for lane in lanes for key in self._keys_to_take(lane)]
        taken = await self._link.run(TAKE, keys, [most, self._name, *(lane.role for lane in lanes)])
        return [Entry(lanes[number], raw, self._name) for number, raw in taken]

    def _keys_to_take(self, lane: Lane) -> Iterator[str]:
        yield lane.key()
        yield processing_key(lane, self._name)
        yield from map(lane.key, ("takers", "out", "bell", "ahead"))


def group_lanes(lanes: Sequence[Lane], link: RedisLink) -> Iterable[Sequence[Lane]]:
    """Group lanes that one script can access: all, or on a cluster those of one role."""
    return by_role(lanes) if link.cluster else [lanes]


async def wait_for_bell(link: RedisLink, lanes: Sequence[Lane]) -> bool:
    """Wait up to a second on the wake-up lists of these lanes."""
    return await any_of([_ring(link, group) for group in group_lanes(lanes, link)])


def processing_key(lane: Lane, holder: str) -> str:
    """Return the key of a worker's processing list."""
    return lane.key(f"processing:{holder}")


async def stale_of_lists(link: RedisLink, lane: Lane, seconds: float) -> list[Entry]:
    """Return the taken entries of a lane that were moved at least this long ago, and those that are not messages."""
    now, millionths = await link.call("TIME")
    moved_by = (now - seconds) * 1000 + millionths / 1000
    entries: list[Entry] = []
    for holder in sorted(taker.decode() for taker in await link.call("SMEMBERS", lane.key("takers"))):
        taken = await link.call("LRANGE", processing_key(lane, holder), 0, -1)
        entries += [Entry(lane, raw, holder) for raw in taken]
    moved = await link.calls([("ZSCORE", lane.key("out"), entry.task_id or 0) for entry in entries])
    return [entry for entry, at in zip(entries, moved, strict=True) if at is None or float(at) <= moved_by]


async def length_of_lists(link: RedisLink, lane: Lane, first: int = 0) -> LaneLength:
    """Count the entries in the lists of a lane. The oldest waiting one is at index `first`."""
    waiting, oldest, takers = await link.calls(
        [("LLEN", lane.key()), ("LINDEX", lane.key(), first), ("SMEMBERS", lane.key("takers"))]
    )
    taken = await link.calls([("LLEN", processing_key(lane, taker.decode())) for taker in takers])
    message = read_message(oldest) if oldest else None
    return LaneLength(lane=lane, waiting=waiting, taken=sum(taken), oldest=message.at if message else None)


async def _ring(link: RedisLink, lanes: Sequence[Lane]) -> bool:
    return await link.call("BLPOP", *(lane.key("bell") for lane in lanes), WAIT) is not None


def _lane_and_place(entry: Entry) -> tuple[Lane, str]:
    return entry.lane, entry.place
