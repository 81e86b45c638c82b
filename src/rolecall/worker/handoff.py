"""Claims the tasks that a dispatcher has pushed to Redis; without one, claims from Postgres by polling.

    Redis ──take──▶ ids ──claim by id──▶ Postgres ──▶ held tasks            refused: acknowledged at once, offered again
      ▲                                                   │                          if it may run later
      └──────────────── acknowledge ◀──────── its outcome is stored

A worker with dispatch has no idle mark, so enqueues do not notify it: it blocks on wake-up lists in Redis. Dispatch
is used while Redis answers and a dispatcher leads. After two seconds without an answer the worker polls, until Redis
answers again. Only claims decide who runs a task, so lost, late and repeated messages are harmless. A worker that
finds nothing in Redis checks Postgres twice a minute for tasks that were not dispatched.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from rolecall.config import failpoints
from rolecall.config.handoff import HandoffSettings
from rolecall.handoff.connections import Connections
from rolecall.handoff.lanes import Band, Entry, Lane
from rolecall.handoff.queues import HandoffQueue
from rolecall.handoff.roll import (
    APART,
    BEAT_EVERY,
    MIXED,
    LeaderInfo,
    WorkerBeat,
    announce,
    beat,
    leader_of,
    pool_of,
    read_roles,
    remove_workers,
)
from rolecall.model.outcomes import Returned
from rolecall.sql import claims
from rolecall.transport.brokers import RedisAway
from rolecall.transport.waker import Waker
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.producer import Claims
from rolecall.worker.registration import Registration
from rolecall.worker.session import DatabaseSession

AWAY_AFTER = 2.0
RETRY_EVERY = 0.5
LOOK_EVERY = 30.0
MOST_TAKES = 20
MOST_AT_ONCE = 100
AWAY = "Redis does not answer, polling instead after two seconds"
GONE = frozenset({"taken", "finished", "unknown", "expired"})

log = logging.getLogger("rolecall.worker")


class DispatchedClaims:
    """A source of tasks like `Claims`, with dispatch. Uses `polling` while dispatch is not available."""

    def __init__(
        self,
        settings: HandoffSettings,
        polling: Claims,
        session: DatabaseSession,
        registration: Registration,
        nudge: Callable[[], None],
    ) -> None:
        self._connections = Connections(settings, secrets.token_hex(4))
        self._polling = polling
        self._session = session
        self._registration = registration
        self._nudge = nudge
        self._lanes = _lanes(registration.info.roles)
        self._queue: HandoffQueue | None = None
        self._away_since = monotonic()
        self._look_at = monotonic() + LOOK_EVERY
        self._idle = False
        self._has_free_slots = asyncio.Event()  # the last take did not fill the slots
        self._used_dispatch = False  # the last take used dispatch
        self._entries: dict[tuple[int, int], list[Entry]] = {}
        self._acks = Acks()
        self._reason = ""
        self._room = self._announced_room = registration.info.slots  # the number of tasks that it would take at once
        self._more_room = Waker()

    @property
    def held_back(self) -> bool:
        """As in `Claims`. A dispatched task that needs a free slot is refused and offered again."""
        return not self._used_dispatch and self._polling.held_back

    @property
    def marked_idle(self) -> bool:
        """Whether this worker is woken when there is work."""
        return self._idle if self._queue else self._polling.marked_idle

    def serves(self, role: str) -> bool:
        """As in `Claims`. With dispatch, Postgres notifications are for the dispatcher."""
        return self._queue is None and self._polling.serves(role)

    def is_among(self, worker_ids: Sequence[str]) -> bool:
        return self._polling.is_among(worker_ids)

    async def take(self, limit: int, start: int, run: int) -> list[HeldTask]:
        """Take up to `limit` tasks, best first; `start` slots are free for them."""
        queue, now = self._queue, monotonic()
        self._used_dispatch = queue is not None
        held_tasks: list[HeldTask] = []
        if queue is not None:
            held_tasks = await self._take(queue, limit, start)
            if held_tasks or now < self._look_at:
                return held_tasks
        elif now - self._away_since < AWAY_AFTER:
            return []
        self._look_at = now + LOOK_EVERY
        # Dispatched tasks do not say which permit they use, so sequences are not claimed.
        return await self._polling.take(limit, start, min(run, 1))

    async def take_more(self, held_tasks: Sequence[HeldTask], calls: int) -> list[HeldTask]:
        """As in `Claims`, from Postgres: a batch has one handler, but dispatch is by role."""
        return await self._polling.take_more(held_tasks, calls)

    @property
    def polls_due_times(self) -> bool:
        """False with dispatch, because the dispatcher watches for tasks that become due."""
        return self._queue is None

    async def next_due(self) -> float | None:
        """Return the seconds until a task in Postgres is due."""
        return await self._polling.next_due()

    async def mark_idle(self, *, idle: bool) -> None:
        self._idle = idle
        await self._polling.mark_idle(idle=idle and self._queue is None)

    async def wake_others(self) -> None:
        if self._queue is None:
            await self._polling.wake_others()

    def acknowledge_dropped(self, held_tasks: Iterable[HeldTask]) -> None:
        """Acknowledge tasks whose outcome is stored or whose claim is lost."""
        for held in held_tasks:
            if entries := self._entries.pop((held.task.id, held.task.fence), None):
                self._acks.add(entries, again=type(held.report) is Returned)

    async def run(self) -> None:
        while True:
            try:
                await self._serve()
            except* RedisAway as errors:
                self._on_redis_lost(errors.exceptions[0])
            await asyncio.sleep(RETRY_EVERY)

    async def close(self) -> None:
        """Deregister from Redis and acknowledge stored outcomes, for at most a second."""
        try:
            async with asyncio.timeout(1.0):
                if self._queue is not None:
                    await self._acks.flush(self._queue)
                await remove_workers(self._connections.control, [self._connections.name])
        except (RedisAway, TimeoutError) as error:
            log.debug("This worker could not deregister from Redis: %s", error)
        await self._connections.close()

    async def _serve(self) -> None:
        queue, kind = await self._connections.open()
        pool = await pool_of(self._session)
        async with asyncio.TaskGroup() as serving:
            serving.create_task(self._beat(queue, kind, pool))
            serving.create_task(self._listen(queue))
            serving.create_task(self._acks.run(queue))

    async def _beat(self, queue: HandoffQueue, kind: str, pool: str) -> None:
        control, before = self._connections.control, 0
        while True:
            info = self._registration.info
            room, self._room, self._announced_room = self._room, info.slots, self._room
            number = self._registration.worker_id
            heartbeat = WorkerBeat(number=number, room=room, roles=info.roles, handlers=info.handlers)
            await beat(control, self._connections.name, heartbeat)
            if room > before:
                await announce(control)
            before = room
            self._choose_source(queue, kind, pool, await leader_of(control))
            await self._more_room.wait(BEAT_EVERY)

    async def _listen(self, queue: HandoffQueue) -> None:
        while True:
            await self._has_free_slots.wait()
            found = await self._find_lanes()
            if not self._lanes:
                await asyncio.sleep(RETRY_EVERY)
            elif found or (await queue.wait(self._lanes) and self._has_free_slots.is_set()):
                self._nudge()

    async def _find_lanes(self) -> bool:
        """For a worker of all roles, read which roles are dispatched; return whether there are more than before."""
        if self._registration.info.roles:
            return False
        before, self._lanes = self._lanes, _lanes(await read_roles(self._connections.control))
        return len(self._lanes) > len(before)

    async def _take(self, queue: HandoffQueue, limit: int, start: int) -> list[HeldTask]:
        self._room = max(self._room, limit)
        if self._room > 2 * self._announced_room:
            self._more_room.nudge()
        held_tasks: list[HeldTask] = []
        try:
            for _ in range(MOST_TAKES):
                most = limit - len(held_tasks)
                entries = await queue.take(self._lanes, most) if most and self._lanes else []
                if entries:
                    if failpoints.ARMED:
                        failpoints.hit(failpoints.AFTER_TAKE)
                    held_tasks += await self._claim(entries, max(0, start - len(held_tasks)))
                if len(entries) < most or not most:
                    break
        except RedisAway as error:
            self._on_redis_lost(error)
        if len(held_tasks) < limit:
            self._has_free_slots.set()
        else:
            self._has_free_slots.clear()
        return held_tasks

    async def _claim(self, entries: Sequence[Entry], start: int) -> list[HeldTask]:
        by_id: dict[int, list[Entry]] = defaultdict(list)
        for entry in entries:
            if entry.task_id is None:
                log.warning("Invalid message in Redis for role %s: %r", entry.lane.role, entry.raw[:100])
                self._acks.add([entry], again=False)
            else:
                by_id[entry.task_id].append(entry)
        worker_id = self._registration.worker_id
        claimed, refused = await self._session.run(claims.claim_these(worker_id, list(by_id), start))
        sent_at = self._session.sent_at
        for task in claimed:
            self._entries[task.id, task.fence] = by_id[task.id]
        for task_id, verdict in refused.items():
            log.debug("Dispatched task %d was not claimed: %s", task_id, verdict)
            self._acks.add(by_id[task_id], again=verdict not in GONE)
        return await self._polling.hold(claimed, worker_id, sent_at)

    def _choose_source(self, queue: HandoffQueue, kind: str, pool: str, leader: LeaderInfo | None) -> None:
        if leader is None:
            self._poll("No dispatcher is running (rolecall dispatch): polling instead")
        elif leader.leads_for_another(pool):
            self._poll(f"{MIXED}: polling instead. {APART}")
        elif leader.kind != kind:
            self._poll(f"The dispatcher uses {leader.kind}, but this worker uses {kind}: polling instead")
        else:
            self._turn(queue, logging.INFO, f"Tasks are dispatched through Redis ({kind})")
        # Redis answers, so without dispatch polling can start at once.
        self._away_since = 0.0

    def _poll(self, reason: str) -> None:
        self._turn(None, logging.WARNING, reason)

    def _turn(self, queue: HandoffQueue | None, level: int, reason: str) -> None:
        if reason == self._reason:
            return
        log.log(level, reason)
        self._reason = reason
        self._queue = queue
        self._idle = False
        self._nudge()

    def _on_redis_lost(self, error: BaseException) -> None:
        if self._queue is not None:
            self._away_since = monotonic()
            asyncio.get_running_loop().call_later(AWAY_AFTER, self._nudge)
        self._poll(AWAY)
        log.debug("Redis: %s", error)


class Acks:
    """Acknowledges entries in batches. Entries that are lost with a connection are left to the reclaimer."""

    def __init__(self) -> None:
        self._done: list[Entry] = []
        self._again: list[Entry] = []
        self._waker = Waker()

    def add(self, entries: Iterable[Entry], *, again: bool) -> None:
        (self._again if again else self._done).extend(entries)
        self._waker.nudge()

    async def run(self, queue: HandoffQueue) -> None:
        while True:
            await self.flush(queue)
            await self._waker.wait()

    async def flush(self, queue: HandoffQueue) -> None:
        while self._done or self._again:
            if failpoints.ARMED:
                failpoints.hit(failpoints.BEFORE_ACK)
            for entries, again in ((self._done, False), (self._again, True)):
                batch = entries[:MOST_AT_ONCE]
                del entries[: len(batch)]
                if batch:
                    await queue.ack(batch, again=again)


def _lanes(roles: Sequence[str]) -> list[Lane]:
    return sorted(Lane(band, role) for band in Band for role in roles)
