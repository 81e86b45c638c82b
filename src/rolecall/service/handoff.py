"""The state of the Redis hand-off, for operators."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from rolecall.config.handoff import HandoffSettings
from rolecall.handoff.connections import Connections
from rolecall.handoff.lanes import Band, Lane
from rolecall.handoff.roll import leader_of, pool_of, read_reclaimed, read_roles, read_workers
from rolecall.model.handoff import HandoffState, LaneState
from rolecall.model.operator.why import Cause, CauseKind
from rolecall.service.database import Database
from rolecall.transport.brokers import RedisAway, RedisLink, RedisRefuses

NAME = "operator"
NO_EVICTION = "noeviction"


class Handoff:
    """Reads the state of the Redis hand-off, on new connections for each call."""

    def __init__(self, settings: HandoffSettings, database: Database) -> None:
        self._settings = settings
        self._database = database

    async def show(self) -> HandoffState | None:
        """Return the state of the hand-off; None if it is off."""
        if not self._settings.on:
            return None
        try:
            async with self._connect() as connections:
                return await _read_state(connections, await pool_of(self._database))
        except RedisAway as error:
            return HandoffState(problem=str(error))

    async def handoff_cause(self, task_id: int, role: str) -> Cause | None:
        """Return the time since when a task's id is in Redis, as a cause; None if it is not, or Redis is away."""
        if not self._settings.on:
            return None
        try:
            async with self._connect() as connections:
                keys = [(band, Lane(band, role).key("out")) for band in Band]
                found = [await connections.link(band).call("ZSCORE", key, task_id) for band, key in keys]
        except RedisAway:
            return None
        moved = [float(at) for at in found if at is not None]
        if not moved:
            return None
        since = datetime.fromtimestamp(max(moved) / 1000, UTC)
        return Cause(
            kind=CauseKind.HANDED_OVER,
            sentence=f"it was handed to Redis at {since:%Y-%m-%d %H:%M:%S} UTC, and a worker has it or will take it",
            change="a worker of its role that takes it; after a minute, it is handed over again",
            role=role,
            since=since,
        )

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Connections]:
        connections = Connections(self._settings, NAME)
        try:
            yield connections
        finally:
            await connections.close()


async def _read_state(connections: Connections, pool: str) -> HandoffState:
    queue, kind = await connections.open()
    control = connections.control
    leader = await leader_of(control)
    lanes = [Lane(band, role) for role in await read_roles(control) for band in Band]
    lengths = await queue.lengths(lanes) if lanes else []
    return HandoffState(
        kind=kind,
        dispatcher=leader.name if leader else None,
        mixed=leader is not None and leader.leads_for_another(pool),
        workers=sum(worker.alive for worker in await read_workers(control)),
        reclaimed=await read_reclaimed(control),
        evicts=await _evicts(control),
        lanes=[
            LaneState(
                role=each.lane.role,
                band=each.lane.band,
                waiting=each.waiting,
                taken=each.taken,
                waiting_since=each.oldest,
            )
            for each in lengths
        ],
    )


async def _evicts(link: RedisLink) -> str | None:
    try:
        policies = await link.call("CONFIG GET", "maxmemory-policy")
    except RedisRefuses:  # most managed Redis services refuse CONFIG
        return None
    policy = str(policies.get("maxmemory-policy", NO_EVICTION))
    return None if policy == NO_EVICTION else policy
