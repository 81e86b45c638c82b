"""Queues as Redis streams with a consumer group. The server records who took what, when and how often.

rolecall:{mail}:low:stream   waiting and taken entries; acknowledged ones are deleted, so it does not grow
rolecall:{mail}:low:front    returned entries, taken before the stream, which only grows at its end
rolecall:{mail}:low:out, :bell, :ahead   as with lists
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby

from rolecall.handoff.lanes import REFILL, Entry, Lane, LaneLength, Message
from rolecall.handoff.lists import AHEAD_FOR, NOW, TELL, group_lanes, wait_for_bell
from rolecall.handoff.queues import take_in_turn
from rolecall.transport.brokers import RedisLink, Script

GROUP = "rolecall"
RECLAIMER = "reclaimer"
AT_ONCE = 500
# Milliseconds after which an idle consumer without entries is removed, as each worker process has a new name.
IDLE_CONSUMER = 3_600_000
WITH_GROUP = f"""
local function with_group(stream)
    if redis.call('EXISTS', stream) == 0 then redis.call('XGROUP', 'CREATE', stream, '{GROUP}', '0', 'MKSTREAM') end
end
"""
PUSH = Script(f"""{NOW}{WITH_GROUP}
local stream, out, bell, ahead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
redis.call('SET', ahead, ARGV[1], 'PX', {AHEAD_FOR})
with_group(stream)
local pushed = {{}}
for i = 3, #ARGV, 2 do
    if #pushed == tonumber(ARGV[2]) then break end
    if redis.call('ZADD', out, 'NX', now, ARGV[i]) == 1 then
        redis.call('XADD', stream, '*', 'message', ARGV[i + 1])
        redis.call('RPUSH', bell, 1)
        pushed[#pushed + 1] = tonumber(ARGV[i])
    end
end
return pushed
""")
# A stream created by someone else has no group of ours.
READ = f"""
local function read(stream, consumer, most)
    local answer = redis.pcall('XREADGROUP', 'GROUP', '{GROUP}', consumer, 'COUNT', most, 'STREAMS', stream, '>')
    if answer and answer.err then
        if redis.call('EXISTS', stream) == 0 then return {{}} end
        redis.call('XGROUP', 'CREATE', stream, '{GROUP}', '0')
        answer = redis.call('XREADGROUP', 'GROUP', '{GROUP}', consumer, 'COUNT', most, 'STREAMS', stream, '>')
    end
    return answer and answer[1][2] or {{}}
end
local function waiting(stream)
    if redis.call('EXISTS', stream) == 0 then return 0 end
    local pending = redis.pcall('XPENDING', stream, '{GROUP}')
    return redis.call('XLEN', stream) - (pending.err and 0 or pending[1])
end
"""
TAKE = Script(f"""{TELL}{READ}
local most = tonumber(ARGV[1])
local taken = {{}}
for lane = 0, #KEYS / 4 - 1 do
    local front, stream, bell, ahead = unpack(KEYS, lane * 4 + 1, lane * 4 + 4)
    local before = #taken
    for _, key in ipairs({{front, stream}}) do
        if #taken < most then
            for _, entry in ipairs(read(key, ARGV[2], most - #taken)) do
                taken[#taken + 1] = {{lane, key == front and 1 or 0, entry[1], entry[2][2]}}
            end
        end
    end
    if #taken > before then tell(ARGV[3 + lane], waiting(front) + waiting(stream), bell, ahead) end
end
return taken
""")
ACK = Script(f"""
local stream, out = KEYS[1], KEYS[2]
for i = 3, #ARGV, 2 do
    redis.call('XACK', stream, '{GROUP}', ARGV[i])
    redis.call('XDEL', stream, ARGV[i])
    if ARGV[i + 1] ~= '' then redis.call('ZREM', out, ARGV[i + 1]) end
end
if ARGV[1] == '1' then redis.call('PUBLISH', '{REFILL}', ARGV[2]) end
""")
PUT_BACK = Script(f"""{NOW}{WITH_GROUP}
local stream, front, out, bell = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local there = redis.call('XACK', stream, '{GROUP}', ARGV[1])
if there == 1 then
    redis.call('XDEL', stream, ARGV[1])
    with_group(front)
    redis.call('XADD', front, '*', 'message', ARGV[2])
    redis.call('ZADD', out, now, ARGV[3])
    redis.call('LPUSH', bell, 1)
end
return there
""")
STALE = Script(f"""
local stale = {{}}
for number, stream in ipairs(KEYS) do
    local cursor = '0-0'
    repeat
        local answer = redis.pcall(
            'XAUTOCLAIM', stream, '{GROUP}', '{RECLAIMER}', ARGV[1], cursor, 'COUNT', {AT_ONCE}
        )
        if answer.err then break end
        cursor = answer[1]
        for _, entry in ipairs(answer[2]) do
            if entry and entry[2] then stale[#stale + 1] = {{number, entry[1], entry[2][2]}} end
        end
    until cursor == '0-0'
    local consumers = redis.pcall('XINFO', 'CONSUMERS', stream, '{GROUP}')
    for _, consumer in ipairs(consumers.err and {{}} or consumers) do
        if consumer[4] == 0 and consumer[6] > {IDLE_CONSUMER} then
            redis.call('XGROUP', 'DELCONSUMER', stream, '{GROUP}', consumer[2])
        end
    end
end
return stale
""")
FORGET_LOST = Script(f"""{NOW}
local there = {{}}
for i = 1, 2 do
    for _, entry in ipairs(redis.call('XRANGE', KEYS[i], '-', '+')) do
        local id = string.match(entry[2][2], '"task_id"%s*:%s*(%d+)')
        if id then there[id] = true end
    end
end
local forgotten = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[1])) do
    if not there[id] then forgotten = forgotten + redis.call('ZREM', KEYS[3], id) end
end
return forgotten
""")
LENGTH = Script(f"""{READ}
local left, all, oldest = 0, 0, ''
for i = 1, 2 do
    if redis.call('EXISTS', KEYS[i]) == 1 then
        left = left + waiting(KEYS[i])
        all = all + redis.call('XLEN', KEYS[i])
        local groups = redis.call('XINFO', 'GROUPS', KEYS[i])
        local next = redis.call('XRANGE', KEYS[i], groups[1] and '(' .. groups[1][8] or '-', '+', 'COUNT', 1)
        if next[1] then oldest = next[1][1] end
    end
end
return {{left, all - left, oldest}}
""")


class StreamQueue:
    """`HandoffQueue` with streams, for the worker or dispatcher of this name."""

    def __init__(self, link: RedisLink, name: str) -> None:
        self._link = link
        self._name = name

    async def push(self, lane: Lane, messages: Sequence[Message], room: int, ahead: int) -> set[int]:
        keys = [lane.key("stream"), lane.key("out"), lane.key("bell"), lane.key("ahead")]
        arguments = [part for message in messages for part in (message.task_id, message.encode())]
        return set(await self._link.run(PUSH, keys, [ahead, room, *arguments]))

    async def take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        return await take_in_turn([partial(self._take, group) for group in group_lanes(lanes, self._link)], most)

    async def wait(self, lanes: Sequence[Lane]) -> bool:
        return await wait_for_bell(self._link, lanes)

    async def ack(self, entries: Sequence[Entry], *, again: bool = False) -> None:
        for (lane, what), group in groupby(sorted(entries, key=_lane_and_stream), _lane_and_stream):
            arguments = [part for entry in group for part in (_number(entry), entry.task_id or "")]
            await self._link.run(ACK, [lane.key(what), lane.key("out")], [int(again), lane.role, *arguments])

    async def stale(self, lane: Lane, seconds: float) -> list[Entry]:
        parts = ("front", "stream")
        found = await self._link.run(STALE, [lane.key(what) for what in parts], [int(seconds * 1000)])
        return [Entry(lane, raw, f"{parts[place - 1]}/{number.decode()}") for place, number, raw in found]

    async def put_back(self, entries: Sequence[Entry]) -> int:
        return sum([await self._put_back(entry) for entry in entries])

    async def _put_back(self, entry: Entry) -> bool:
        lane, what = _lane_and_stream(entry)
        keys = [lane.key(what), lane.key("front"), lane.key("out"), lane.key("bell")]
        return bool(await self._link.run(PUT_BACK, keys, [_number(entry), entry.raw, entry.task_id]))

    async def forget_lost(self, lane: Lane, seconds: float) -> int:
        keys = [lane.key("front"), lane.key("stream"), lane.key("out")]
        forgotten: int = await self._link.run(FORGET_LOST, keys, [int(seconds * 1000)])
        return forgotten

    async def lengths(self, lanes: Sequence[Lane]) -> list[LaneLength]:
        return [await self._length(lane) for lane in lanes]

    async def _length(self, lane: Lane) -> LaneLength:
        # The stream first, because returned entries are older.
        waiting, taken, oldest = await self._link.run(LENGTH, [lane.key("stream"), lane.key("front")], [])
        at = datetime.fromtimestamp(int(oldest.split(b"-")[0]) / 1000, UTC) if oldest else None
        return LaneLength(lane=lane, waiting=waiting, taken=taken, oldest=at)

    async def _take(self, lanes: Sequence[Lane], most: int) -> list[Entry]:
        keys = [lane.key(what) for lane in lanes for what in ("front", "stream", "bell", "ahead")]
        taken = await self._link.run(TAKE, keys, [most, self._name, *(lane.role for lane in lanes)])
        return [
            Entry(lanes[lane], raw, f"{'front' if put_back else 'stream'}/{number.decode()}")
            for lane, put_back, number, raw in taken
        ]


def _lane_and_stream(entry: Entry) -> tuple[Lane, str]:
    return entry.lane, entry.place.partition("/")[0]


def _number(entry: Entry) -> str:
    return entry.place.partition("/")[2]
