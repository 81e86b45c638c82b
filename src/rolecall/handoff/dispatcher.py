"""Reads due tasks from Postgres and pushes their ids to Redis.

    Postgres ──notifies──▶ dispatcher ──offers──▶ Postgres
                 ▲             │
       "half empty", by Redis  └──push──▶ lanes ──▶ workers ──claim by id──▶ Postgres

Any number of dispatchers can run. One leads and the others wait for its lock, which only saves work: an id is pushed
once, whoever pushes it. A lane contains at most twice as many tasks as its workers have room for, so that more urgent
tasks do not wait long. Without workers it contains ten, for people and autoscalers. Tasks that workers reject (a
paused role, a key without free capacity) are offered again after increasing pauses. A dispatcher claims nothing and is
not in the worker registry.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Protocol

from rolecall.config import failpoints
from rolecall.handoff.connections import Connections
from rolecall.handoff.lanes import REFILL, Band, Lane, Message
from rolecall.handoff.queues import HandoffQueue
from rolecall.handoff.reclaimer import Reclaimer
from rolecall.handoff.roll import (
    ANY_ROLE,
    APART,
    MIXED,
    Leader,
    WorkerBeat,
    leader_of,
    note_roles,
    pool_of,
    read_workers,
)
from rolecall.maintenance.periodic import Periodic
from rolecall.maintenance.runs import DutySession
from rolecall.model.errors import RolecallError
from rolecall.model.tasks import Offer
from rolecall.sql import claims
from rolecall.sql import handoff as sql
from rolecall.transport.brokers import RedisAway
from rolecall.transport.listener import Listener
from rolecall.transport.transport import WAKE_CHANNEL, Transport
from rolecall.transport.waker import Backoff, Waker

HIGH_FROM = 1
AHEAD = 2
# The tasks in a lane that no worker reads.
AHEAD_OF_NOBODY = 10
POLL_EVERY = 1.0
SOON = 0.01
READ_WORKERS_EVERY = 1.0
WATCH_EVERY = 30.0
NOTE_ROLES_EVERY = 10.0
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
MOST_REMEMBERED = 10_000

log = logging.getLogger("rolecall.handoff")


class Session(DutySession, Protocol):
    """Runs idempotent statements until it is closed."""

    async def close(self) -> None:
        """Close the connection."""


class Dispatcher:
    """Dispatches until cancelled, and survives outages of Redis and Postgres.

    `transport` carries Postgres notifications.
    """

    def __init__(self, connections: Connections, session: Session, transport: Transport) -> None:
        self._connections = connections
        self._session = session
        self._work = Waker()
        self._listener = Listener(transport, {WAKE_CHANNEL: self._nudge}, self._work.nudge)
        self._backoff = Backoff(0.1, 2.0)
        self._is_away = False
        self._mixed = False

    async def run(self) -> None:
        """Lead, or wait for the lead, until cancelled."""
        listening = asyncio.create_task(self._listener.run(), name="rolecall-dispatch-listener")
        try:
            while True:
                try:
                    await self._lead()
                except RolecallError as error:
                    self._complain(error)
                await asyncio.sleep(self._backoff.next())
        finally:
            listening.cancel()
            await asyncio.wait({listening})
            await self._connections.close()
            await self._session.close()

    async def _lead(self) -> None:
        queue, kind = await self._connections.open()
        control = self._connections.control
        pool = await pool_of(self._session)
        leader = Leader(control, self._connections.name, kind, pool)
        rounds = Rounds(self._connections, queue, self._session)
        tasks = [asyncio.create_task(control.subscribe(REFILL, partial(self._handle_refill, rounds)))]
        reclaim_loop = Periodic("Reclaiming", Reclaimer(control, queue, self._session).run_once, every=10.0, log=log)
        try:
            while await self._is_leader(leader, pool):
                if len(tasks) == 1:
                    log.info("This dispatcher leads, with %s", kind)
                    tasks.append(asyncio.create_task(reclaim_loop.run()))
                self._work.forget()
                hungry = await rounds.run_once()
                self._backoff.reset()
                await self._work.wait(SOON if hungry else POLL_EVERY)
                if tasks[0].done():
                    tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await _resign(leader)

    async def _is_leader(self, leader: Leader, pool: str) -> bool:
        while not await leader.holds():
            self._note_answer()
            await self._warn_of_another_pool(pool)
            await asyncio.sleep(POLL_EVERY)
        self._note_answer()
        return True

    async def _warn_of_another_pool(self, pool: str) -> None:
        leads = await leader_of(self._connections.control)
        mixed = leads is not None and leads.leads_for_another(pool)
        if mixed and not self._mixed:
            log.warning("%s; workers of this database poll. %s", MIXED, APART)
        self._mixed = mixed

    def _handle_refill(self, rounds: Rounds, role: str) -> None:
        if role == ANY_ROLE:
            rounds.refresh_workers()
        self._work.nudge()

    def _nudge(self, _what: str) -> None:
        self._work.nudge()

    def _note_answer(self) -> None:
        if self._is_away:
            log.info("Redis answers again")
        self._is_away = False

    def _complain(self, error: RolecallError) -> None:
        level = logging.DEBUG if self._is_away else logging.WARNING
        log.log(level, "Cannot dispatch tasks, retrying: %s", error)
        self._is_away = isinstance(error, RedisAway)


class Rounds:
    """Repeatedly reads the workers and the due tasks, and pushes tasks to lanes with room."""

    def __init__(self, connections: Connections, queue: HandoffQueue, session: DutySession) -> None:
        self._control = connections.control
        self._queue = queue
        self._session = session
        self._workers: list[WorkerBeat] = []
        self._read_workers_at = 0.0
        self._watch_at = 0.0
        self._push_unread_at = 0.0
        self._note_roles_at = 0.0
        self._roles: set[str] = set()
        self._patience = Patience()

    def refresh_workers(self) -> None:
        """Read the workers in the next round."""
        self._read_workers_at = 0.0

    async def run_once(self) -> bool:
        """Push one round of tasks. Return whether lanes have room for more tasks that may be due."""
        now = monotonic()
        if now >= self._read_workers_at:
            self._read_workers_at = now + READ_WORKERS_EVERY
            self._workers = [worker for worker in await read_workers(self._control) if worker.alive]
        if now >= self._watch_at:
            await self._session.run(sql.watch())
            self._watch_at = now + WATCH_EVERY
        hungry = bool(self._workers) and await self._push_all(await self._offers())
        if now >= self._push_unread_at:
            self._push_unread_at = now + POLL_EVERY
            await self._push_all(await self._unread_offers())
        return hungry

    async def _offers(self) -> dict[Lane, list[Offer]]:
        roles = () if self._serves_all_roles() else sorted({role for worker in self._workers for role in worker.roles})
        handlers = sorted({handler for worker in self._workers for handler in worker.handlers})
        offers = await self._session.run(claims.offers(roles, handlers, self._most(), high=HIGH_FROM))
        return _by_lane(offers)

    async def _unread_offers(self) -> dict[Lane, list[Offer]]:
        if self._serves_all_roles():
            return {}
        offers = await self._session.run(claims.offers((), None, 2 * AHEAD_OF_NOBODY, high=HIGH_FROM))
        return _by_lane(offer for offer in offers if not self._room(offer.role))

    async def _push_all(self, by_lane: dict[Lane, list[Offer]]) -> bool:
        await self._note_roles({lane.role for lane in by_lane})
        lanes = sorted(by_lane)
        hungry = False
        for length in await self._queue.lengths(lanes) if lanes else ():
            offers, ahead = by_lane[length.lane], AHEAD * self._room(length.lane.role) or AHEAD_OF_NOBODY
            room = ahead - length.waiting
            if room > 0 and await self._push(length.lane, offers, ahead, room) < room:
                hungry = hungry or len(offers) >= self._most()
        return hungry

    async def _push(self, lane: Lane, offers: Iterable[Offer], ahead: int, room: int) -> int:
        ready = [offer for offer in offers if self._patience.allows(offer)]
        if not ready:
            return 0
        at = datetime.now(UTC)
        messages = [Message(task_id=offer.id, attempt=offer.attempt, at=at) for offer in ready]
        if failpoints.ARMED:
            failpoints.hit(failpoints.BEFORE_PUSH)
        pushed = await self._queue.push(lane, messages, room, ahead)
        if failpoints.ARMED:
            failpoints.hit(failpoints.AFTER_PUSH)
        self._patience.note(offer for offer in ready if offer.id in pushed)
        return len(pushed)

    def _room(self, role: str) -> int:
        return sum(worker.room for worker in self._workers if not worker.roles or role in worker.roles)

    def _serves_all_roles(self) -> bool:
        return any(not worker.roles for worker in self._workers)

    def _most(self) -> int:
        # Twice the room, because the first tasks may already be in Redis, waiting or about to be claimed.
        return 2 * AHEAD * sum(worker.room for worker in self._workers)

    async def _note_roles(self, roles: set[str]) -> None:
        now = monotonic()
        if roles - self._roles or (roles and now >= self._note_roles_at):
            self._roles |= roles
            self._note_roles_at = now + NOTE_ROLES_EVERY
            await note_roles(self._control, self._roles)


class Patience:
    """Increasing pauses before the same attempt of a task, which workers rejected, is pushed again."""

    def __init__(self) -> None:
        self._pushed: dict[tuple[int, int], tuple[float, float]] = {}

    def allows(self, offer: Offer) -> bool:
        """Return whether the task can be pushed now."""
        again_at, _ = self._pushed.get((offer.id, offer.attempt), (0.0, 0.0))
        return monotonic() >= again_at

    def note(self, offers: Iterable[Offer]) -> None:
        """Record pushed tasks. Each push doubles the next pause."""
        now = monotonic()
        for offer in offers:
            attempt_key = (offer.id, offer.attempt)
            _, pause = self._pushed.pop(attempt_key, (0.0, FIRST_PAUSE / 2))
            pause = min(LONGEST_PAUSE, pause * 2)
            self._pushed[attempt_key] = (now + pause, pause)
        while len(self._pushed) > MOST_REMEMBERED:
            del self._pushed[next(iter(self._pushed))]


def _by_lane(offers: Iterable[Offer]) -> dict[Lane, list[Offer]]:
    by_lane: dict[Lane, list[Offer]] = defaultdict(list)
    for offer in offers:
        by_lane[Lane(Band.HIGH if offer.high else Band.LOW, offer.role)].append(offer)
    return by_lane


async def _resign(leader: Leader) -> None:
    try:
        await leader.release()
    except RedisAway as error:
        log.debug("Could not release the leader's lock, which expires: %s", error)
