"""Heartbeats of workers and the lock of the leading dispatcher, in Redis.

worker:<id>:heartbeat    "alive", for 10 s; renewed every 3 s
rolecall:workers         each worker: its id in the registry, its room, roles and handlers
rolecall:leader          the leading dispatcher, the kind of its queues and its database, for 10 s
rolecall:roles           the roles that were ever dispatched here
rolecall:reclaimed       how many entries reclaimers have returned or removed
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import NamedTuple

import msgspec

from rolecall.handoff.lanes import REFILL
from rolecall.maintenance.runs import DutySession
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.sql import handoff as sql
from rolecall.sql.statement import compiled
from rolecall.transport.brokers import RedisLink, RedisRefuses, Script

BEAT_EVERY = 3.0
ALIVE_FOR = 10
LEADS_FOR = 10_000
# Published instead of a role when the workers have changed.
ANY_ROLE = "*"
# The warning when two databases use the same keys.
MIXED = "Another Rolecall database dispatches through the same Redis"
APART = "Give each one its own prefix (redis://host/0?prefix=shop) or Redis database (redis://host/1)"
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
    """A worker's announcement.

    No roles means every role. `room` is how many tasks it can hold: those of its slots, and prefetched ones of fast
    handlers. `name` is its id in Redis. `alive` is set by the reader.
    """

    number: int
    room: int
    roles: tuple[str, ...] = ()
    handlers: tuple[str, ...] = ()
    name: str = ""
    alive: bool = True


_DECODER = msgspec.json.Decoder(compiled(WorkerBeat))


async def beat(link: RedisLink, name: str, announcement: WorkerBeat) -> None:
    """Write a worker's heartbeat and announcement."""
    await link.calls(
        [
            ("SET", _heartbeat(name), "alive", "EX", ALIVE_FOR),
            ("HSET", WORKERS, name, msgspec.json.encode(announcement)),
        ]
    )


async def announce(link: RedisLink) -> None:
    """Make dispatchers read the workers at once, because one is new or has more room."""
    await link.call("PUBLISH", REFILL, ANY_ROLE)


async def read_workers(link: RedisLink) -> list[WorkerBeat]:
    """Return all announced workers. They are alive if their heartbeat is less than ten seconds old."""
    announcements = await link.call("HGETALL", WORKERS)
    heartbeats = await link.calls([("EXISTS", _heartbeat(name.decode())) for name in announcements])
    workers = []
    for (name, raw), alive in zip(announcements.items(), heartbeats, strict=True):
        try:
            announcement = _DECODER.decode(raw)
        except msgspec.DecodeError:
            continue
        workers.append(msgspec.structs.replace(announcement, name=name.decode(), alive=bool(alive)))
    return workers


async def remove_workers(link: RedisLink, names: Sequence[str]) -> None:
    """Remove workers that have stopped or died."""
    if names:
        await link.call("HDEL", WORKERS, *names)
        await link.calls([("DEL", _heartbeat(name)) for name in names])


async def note_roles(link: RedisLink, roles: Iterable[str]) -> None:
    """Store the roles, for workers of every role."""
    await link.call("SADD", ROLES, *roles)


async def read_roles(link: RedisLink) -> list[str]:
    """Return all roles that were ever dispatched."""
    return sorted(role.decode() for role in await link.call("SMEMBERS", ROLES))


async def add_reclaimed(link: RedisLink, number: int) -> None:
    """Increment the number of reclaimed entries."""
    await link.call("INCRBY", RECLAIMED, number)


async def read_reclaimed(link: RedisLink) -> int:
    """Return the number of reclaimed entries."""
    return int(await link.call("GET", RECLAIMED) or 0)


class LeaderInfo(NamedTuple):
    """The leading dispatcher, the kind of its queues and the id of its database. Empty strings mean unknown."""

    name: str
    kind: str = ""
    pool: str = ""

    def leads_for_another(self, pool: str) -> bool:
        """Return whether it is known to lead for another database."""
        return bool(self.pool and pool) and self.pool != pool


async def pool_of(session: DutySession) -> str:
    """Return the id of a database, or an empty string if the login cannot read it, which matches any database."""
    try:
        return await session.run(sql.pool_id())
    except DatabaseUnavailable:
        raise
    except DatabaseError as error:
        log.debug("Cannot read the id of the database: %s", error)
        return ""


async def leader_of(link: RedisLink) -> LeaderInfo | None:
    """Return the current leader, or None."""
    value = await link.call("GET", LEADER)
    return LeaderInfo(*value.decode().split(" ", 2)) if value else None


class Leader:
    """The leader's lock. Two leaders would only do the same work twice."""

    def __init__(self, link: RedisLink, name: str, kind: str, pool: str) -> None:
        self._link = link
        self._value = f"{name} {kind} {pool}"
        self._is_held = False
        self._again_at = 0.0

    async def holds(self) -> bool:
        """Take or renew the lock, at most every three seconds. Return whether it is held."""
        if monotonic() >= self._again_at:
            self._is_held = await self._renew() or await self._take()
            self._again_at = monotonic() + BEAT_EVERY
        return self._is_held

    async def release(self) -> None:
        """Release the lock, so that another dispatcher leads at once. Also releases an interrupted take."""
        await self._run_if_held(RELEASE, [], ("DEL", LEADER))

    async def _take(self) -> bool:
        return bool(await self._link.call("SET", LEADER, self._value, "NX", "PX", LEADS_FOR))

    async def _renew(self) -> bool:
        return self._is_held and await self._run_if_held(RENEW, [LEADS_FOR], ("PEXPIRE", LEADER, LEADS_FOR))

    async def _run_if_held(self, script: Script, arguments: Sequence[int], command: Sequence[object]) -> bool:
        try:
            return bool(await self._link.run(script, [LEADER], [self._value, *arguments]))
        except RedisRefuses:
            # Without scripts, another dispatcher may take the lock in between. Two then lead for a while.
            value = await self._link.call("GET", LEADER)
            return value == self._value.encode() and bool(await self._link.call(*command))


def _heartbeat(name: str) -> str:
    return f"worker:{name}:heartbeat"
