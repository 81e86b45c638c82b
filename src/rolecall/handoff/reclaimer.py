"""Cleans up in Redis: entries of dead workers, marks without entries, dead workers.

    an entry taken 30 s ago and not acknowledged, by its task's row
    running on any worker      left alone: it is acknowledged when the task finishes
    open and not running       put back to the front
    deleted or finished        removed
    not a valid message        removed and logged

    an entry in a lane that no worker reads
    open and not running       stays
    otherwise                  removed: a worker that polls took the task

Silent workers without a database session are handled first.
"""

from __future__ import annotations

import logging
from functools import partial

from rolecall.config import failpoints
from rolecall.handoff.lanes import Band, Entry, Lane
from rolecall.handoff.queues import HandoffQueue
from rolecall.handoff.roll import add_reclaimed, read_roles, read_workers, remove_workers
from rolecall.maintenance.deaths import MOST_RESCUED, describe_counts, rescue_in_batches
from rolecall.maintenance.runs import DutySession
from rolecall.sql import claims
from rolecall.sql import handoff as sql
from rolecall.transport.brokers import RedisLink

STALE_AFTER = 30.0
LOST_AFTER = 60.0
MOST_EXAMINED = 100

log = logging.getLogger("rolecall.handoff")


class Reclaimer:
    """Runs all of this once, for every lane ever used. Concurrent runs are safe."""

    def __init__(
        self,
        control: RedisLink,
        queue: HandoffQueue,
        session: DutySession,
        *,
        stale_after: float = STALE_AFTER,
        lost_after: float = LOST_AFTER,
    ) -> None:
        self._control = control
        self._queue = queue
        self._session = session
        self._stale_after = stale_after
        self._lost_after = lost_after

    async def run_once(self) -> None:
        """Run once. Silent workers come first, so that their tasks that have not started are dispatched again."""
        await self.rescue_silent_workers()
        alive = [worker for worker in await read_workers(self._control) if worker.alive]
        for role in await read_roles(self._control):
            is_read = any(not worker.roles or role in worker.roles for worker in alive)
            for lane in (Lane(Band.HIGH, role), Lane(Band.LOW, role)):
                await self._reclaim(lane)
                if not is_read:
                    await self._remove_outdated(lane)

    async def rescue_silent_workers(self) -> None:
        """Return the tasks of idempotent roles of workers that are silent in Redis and have no session in Postgres.

        This does not prove their death, because a worker cut off from both looks the same.
        """
        silent = [worker for worker in await read_workers(self._control) if not worker.alive]
        if not silent:
            return
        lost = await self._session.run(sql.sessionless([worker.number for worker in silent]))
        if not lost:
            return
        rescue = partial(claims.rescue_harmless, sorted(lost))
        became = await rescue_in_batches(self._session, rescue, MOST_RESCUED)
        await remove_workers(self._control, [worker.name for worker in silent if worker.number in lost])
        if became:
            workers = ", ".join(map(str, sorted(lost)))
            log.warning("Worker %s has no heartbeat and no session left: returned %s", workers, describe_counts(became))

    async def _reclaim(self, lane: Lane) -> None:
        stale = await self._queue.stale(lane, self._stale_after)
        ids = [entry.task_id for entry in stale if entry.task_id is not None]
        running = await self._session.run(sql.running_among(ids)) if ids else {}
        removed = [entry for entry in stale if entry.task_id not in running]
        await self._remove(removed)
        to_return = [entry for entry in stale if entry.task_id is not None and running.get(entry.task_id) is False]
        returned = await self._put_back(to_return) if to_return else 0
        forgotten = await self._queue.forget_lost(lane, self._lost_after)
        if number := len(removed) + returned + forgotten:
            await add_reclaimed(self._control, number)
            counts = (lane.role, lane.band, returned, len(removed), forgotten)
            log.info("Role %s, %s: put back %d entries, removed %d, and removed %d marks without an entry", *counts)

    async def _remove_outdated(self, lane: Lane) -> None:
        entries = await self._queue.take([lane], MOST_EXAMINED)
        ids = [entry.task_id for entry in entries if entry.task_id is not None]
        running = await self._session.run(sql.running_among(ids)) if ids else {}
        await self._put_back([entry for entry in entries if running.get(entry.task_id or 0) is False])
        await self._remove([entry for entry in entries if running.get(entry.task_id or 0) is not False])

    async def _put_back(self, entries: list[Entry]) -> int:
        if failpoints.ARMED:
            failpoints.hit(failpoints.BEFORE_PUT_BACK)
        returned = await self._queue.put_back(entries)
        if failpoints.ARMED:
            failpoints.hit(failpoints.AFTER_PUT_BACK)
        return returned

    async def _remove(self, entries: list[Entry]) -> None:
        for entry in entries:
            if entry.message is None:
                log.warning("Removed an invalid message of role %s: %r", entry.lane.role, entry.raw[:100])
        if entries:
            await self._queue.ack(entries)
