"""Who is there, by what stands in Redis: the workers by their heartbeats, the leading dispatcher by its lock.

worker:<id>:heartbeat    "alive", for 10 s; said again every 3 s
rolecall:workers         what each of them is: its number on the roll, its room, roles and handlers
rolecall:leader          the dispatcher that leads, the kind of its queues and its pool, for 10 s
rolecall:roles           the roles that were ever handed over here
rolecall:reclaimed       how many entries were put back or removed by a reclaimer
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import NamedTuple

import msgspec

from rolecall.brokers import RedisLink, RedisRefuses, Script
from rolecall.handoff.lanes import REFILL
from rolecall.maintenance.runs import Runs
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.sql import handoff as sql
from rolecall.sql.statement import prepared

__all__ = [
    "ANYBODY",
    "APART",
    "BEAT_EVERY",
    "MIXED",
    "Leader",
    "LeaderNow",
    "WorkerBeat",
    "announce",
    "beat",
    "count_reclaimed",
    "everybody",
    "forget",
    "known_roles",
    "leader_of",
    "note_roles",
    "number_reclaimed",
    "pool_of",
]

BEAT_EVERY = 3.0
ALIVE_FOR = 10
LEADS_FOR = 10_000
# In place of a role, where dispatchers hear of lanes that are half empty.
ANYBODY = "*"
# What is said where two pools have the same keys, and what to do.
MIXED = "Another pool hands its tasks over by the same Redis"
APART = "Give each pool a prefix (redis://host/0?prefix=shop) or a database (redis://host/1) of its own"
LEADER = "rolecall:leader"
WORKERS = "rolecall:workers"
ROLES = "rolecall:roles"
RECLAIMED = "rolecall:reclaimed"
RENEW = Script("""
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
""")
RELEASE = Script("""
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
""")

log = logging.getLogger("rolecall.handoff")


class WorkerBeat(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says of itself: no roles means every role, `room` is how many tasks it would have at once: for its
    slots and, of handlers that are fast, some ahead. `name` is its id in Redis; whether it is `alive`, others see.
    """

    number: int
    room: int
    roles: tuple[str, ...] = ()
    handlers: tuple[str, ...] = ()
    name: str = ""
    alive: bool = True


_DECODER = msgspec.json.Decoder(prepared(WorkerBeat))


async def beat(link: RedisLink, name: str, said: WorkerBeat) -> None:
    """Say that a worker lives, and what it is."""
    await link.calls(
        [("SET", _heartbeat(name), "alive", "EX", ALIVE_FOR), ("HSET", WORKERS, name, msgspec.json.encode(said))]
    )


async def announce(link: RedisLink) -> None:
    """Have dispatchers look at the workers at once: one is new, or has more room."""
    await link.call("PUBLISH", REFILL, ANYBODY)


async def everybody(link: RedisLink) -> list[WorkerBeat]:
    """List whoever has said of itself that it is there, and whether it has been heard within ten seconds."""
    told = await link.call("HGETALL", WORKERS)
    heartbeats = await link.calls([("EXISTS", _heartbeat(name.decode())) for name in told])
    found = []
    for (name, raw), alive in zip(told.items(), heartbeats, strict=True):
        try:
            said = _DECODER.decode(raw)
        except msgspec.DecodeError:
            continue
        found.append(msgspec.structs.replace(said, name=name.decode(), alive=bool(alive)))
    return found


async def forget(link: RedisLink, names: Sequence[str]) -> None:
    """Forget workers that have left, or are dead."""
    if names:
        await link.call("HDEL", WORKERS, *names)
        await link.calls([("DEL", _heartbeat(name)) for name in names])


async def note_roles(link: RedisLink, roles: Iterable[str]) -> None:
    """Have workers of every role look for what is handed over of these."""
    await link.call("SADD", ROLES, *roles)


async def known_roles(link: RedisLink) -> list[str]:
    """List the roles of which something was handed over."""
    return sorted(role.decode() for role in await link.call("SMEMBERS", ROLES))


async def count_reclaimed(link: RedisLink, number: int) -> None:
    """Add to the number of entries that a reclaimer had to do with."""
    await link.call("INCRBY", RECLAIMED, number)


async def number_reclaimed(link: RedisLink) -> int:
    """Return that number."""
    return int(await link.call("GET", RECLAIMED) or 0)


class LeaderNow(NamedTuple):
    """The dispatcher that leads, the kind of its queues, and the pool whose tasks it hands over; empty if unknown."""

    name: str
    kind: str = ""
    pool: str = ""

    def is_of_another(self, pool: str) -> bool:
        """Whether it is known to lead for another pool than this one."""
        return bool(self.pool and pool) and self.pool != pool


async def pool_of(session: Runs) -> str:
    """Ask which pool a database is; empty where this login is not told, so that nobody takes it for another one."""
    try:
        return await session.run(sql.pool_id())
    except DatabaseUnavailable:
        raise
    except DatabaseError as error:
        log.debug("The database does not say which pool it is: %s", error)
        return ""


async def leader_of(link: RedisLink) -> LeaderNow | None:
    """Return who leads; None if nobody does."""
    held = await link.call("GET", LEADER)
    return LeaderNow(*held.decode().split(" ", 2)) if held else None


class Leader:
    """The lock of which one dispatcher at a time has the work: two at once would only do it twice."""

    def __init__(self, link: RedisLink, name: str, kind: str, pool: str) -> None:
        self._link = link
        self._value = f"{name} {kind} {pool}"
        self._held = False
        self._again_at = 0.0

    async def holds(self) -> bool:
        """Take the lock, or keep it, once every three seconds; return whether this one has it."""
        if monotonic() >= self._again_at:
            self._held = await self._renewed() or await self._taken()
            self._again_at = monotonic() + BEAT_EVERY
        return self._held

    async def release(self) -> None:
        """Let another one lead at once. Whoever is stopped as it takes the lock has it, and does not know."""
        await self._compared(RELEASE, [], ("DEL", LEADER))

    async def _taken(self) -> bool:
        return bool(await self._link.call("SET", LEADER, self._value, "NX", "PX", LEADS_FOR))

    async def _renewed(self) -> bool:
        return self._held and await self._compared(RENEW, [LEADS_FOR], ("PEXPIRE", LEADER, LEADS_FOR))

    async def _compared(self, script: Script, arguments: Sequence[int], command: Sequence[object]) -> bool:
        try:
            return bool(await self._link.run(script, [LEADER], [self._value, *arguments]))
        except RedisRefuses:
            # Without scripts another one may take the lock in between, and two do the same for a while.
            held = await self._link.call("GET", LEADER)
            return held == self._value.encode() and bool(await self._link.call(*command))


def _heartbeat(name: str) -> str:
    return f"worker:{name}:heartbeat"
