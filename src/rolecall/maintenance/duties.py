"""The standing duties: each is one run that says in a line what it did, None if there was nothing to do.

Duties go batch by batch, a transaction each, until nothing is left; what another process is at is left to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from rolecall.maintenance.cron import plan
from rolecall.maintenance.deaths import MOST_RESCUED, rescue_in_batches, rescue_unseen, told_of
from rolecall.maintenance.runs import Runs
from rolecall.sql import claims, keys, retention, roles, schedules, workers
from rolecall.sql.schedules import Fired

MOST_FIRED = 100
MOST_NAMED = 10
# Seconds: so much longer does one run not go on, as the coming days are looked after by the next one.
LONGEST_PRUNING = 300.0
# Seconds between two batches at least; else as many as the one before took: half of a session's time at most goes here.
PAUSE = 0.02

log = logging.getLogger("rolecall.maintenance")


RunOnce = Callable[[Runs], Awaitable[str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """`run_once` returns one line about what it did, None if there was nothing to do.

    It comes every `every` seconds of the pool, and before that when the engine calls for it, as for a schedule that
    is due (`rolecall.duties_called_for`). Its first statement goes together with its turn: it must take part of it.
    """

    name: str
    every: float
    run_once: RunOnce


async def rescue(session: Runs) -> str | None:
    """Return the tasks whose leases ended and were not renewed during a wait, batch by batch.

    After a standstill of the server all leases have ended; the wait lets living workers renew theirs.
    """
    # Also what does not depend on a lease.
    became = Counter(state.value for state in (await session.run(claims.rescue_found([], []))).values())
    ids, fences, wait = await session.run(claims.find_expired())
    if ids:
        await asyncio.sleep(wait)
    for first in range(0, len(ids), MOST_RESCUED):
        batch = slice(first, first + MOST_RESCUED)
        became.update(
            state.value for state in (await session.run(claims.rescue_found(ids[batch], fences[batch]))).values()
        )
    if not became:
        return None
    return f"Rescued {became.total()} tasks of lost workers: {told_of(became)}"


async def expire(session: Runs) -> str | None:
    """Cancel what has expired before it began, batch by batch until one is short."""
    became = await rescue_in_batches(session, claims.expire, MOST_RESCUED)
    return f"Cancelled {became.total()} tasks that have expired" if became else None


async def fire(session: Runs) -> str | None:
    """Fire what is due, by interval and by cron expression; the engine lets each occasion happen once."""
    dealt_with = [*await _fire_intervals(session), *await fire_cron(session)]
    fired = [schedule for schedule, task_id in dealt_with if task_id is not None]
    return f"Fired {', '.join(fired)}" if fired else None


async def fire_cron(session: Runs) -> list[Fired]:
    """Compute the slots of what is due by cron expression, and hand them over; another process may be first."""
    fired: list[Fired] = []
    while due := await session.run(schedules.due_cron(MOST_FIRED)):
        dealt_with = await session.run(schedules.fire_cron([plan(each) for each in due]))
        fired += dealt_with
        if len(due) < MOST_FIRED:
            break
    return fired


async def _fire_intervals(session: Runs) -> list[Fired]:
    fired: list[Fired] = []
    while batch := await session.run(schedules.fire(MOST_FIRED)):
        fired += batch
        if len(batch) < MOST_FIRED:
            break
    return fired


async def end_pauses(session: Runs) -> str | None:
    """End the pauses whose time is up.

    Warn instead of returning a line: who paused a role should know that it works again.
    """
    for pause in await session.run(roles.end_pauses()):
        by = f" by {pause.paused_by}" if pause.paused_by else ""
        log.warning("Role %s goes on after its pause of %g s%s", pause.role, pause.seconds, by)
    return None


async def count_finished(session: Runs) -> None:
    """Count what has finished since the last time, day by day, until all is counted that can be."""
    while await session.run(retention.roll_up_counts()):
        pass


async def write_history(session: Runs) -> None:
    """Write down what has finished and what is open, hour by hour, until all is written down that can be."""
    while await session.run(retention.roll_up_history()):
        pass


async def unpark(session: Runs) -> str | None:
    """Bring back what is parked though its key has room: the net below all that should have done so before.

    Warn instead of returning a line: nothing should leave such a task behind, so somebody should hear of it.
    """
    ids: list[int] = []
    more = True
    while more:
        began = monotonic()
        step = await session.run(keys.unpark_due())
        ids += step.ids
        more = step.more
        if more:
            await asyncio.sleep(max(PAUSE, monotonic() - began))
    if ids:
        named = ", ".join(map(str, ids[:MOST_NAMED]))
        beyond = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
        log.warning("Brought back tasks that were parked though their keys had room: %s%s", named, beyond)
    return None


async def withdraw_undeclared(session: Runs) -> None:
    """Withdraw what no live worker of an app declares any more, and warn about each withdrawal."""
    for app, kind, name in await session.run(workers.withdraw_undeclared()):
        log.warning("Withdrew %s %s: app %s no longer declares it", kind, name, app)


async def keep_house(session: Runs) -> str | None:
    """Make the coming days' partitions, and drop what is past its retention.

    Partitions first: they must stand before their day comes, whatever pruning runs into.
    """
    made = await session.run(retention.make_partitions())
    pruned = await _prune(session)
    told = [f"{number} {what}" for what, number in sorted(pruned.items()) if number]
    if made:
        told.insert(0, f"{made} partitions made")
    return f"Housekeeping: {', '.join(told)}" if told else None


async def _prune(session: Runs) -> Counter[str]:
    """Batch by batch, each a transaction, until nothing is due; what another process is at is left to it."""
    pruned: Counter[str] = Counter()
    end = monotonic() + LONGEST_PRUNING
    while (began := monotonic()) < end and (batch := await session.run(retention.prune_due())):
        pruned.update(batch)
        await asyncio.sleep(max(PAUSE, monotonic() - began))
    return pruned


DUTIES = (
    Duty(name="rescue", every=5.0, run_once=rescue),
    Duty(name="deaths", every=5.0, run_once=rescue_unseen),
    Duty(name="schedules", every=60.0, run_once=fire),
    Duty(name="pauses", every=60.0, run_once=end_pauses),
    Duty(name="expiry", every=60.0, run_once=expire),
    Duty(name="counting", every=10.0, run_once=count_finished),
    Duty(name="history", every=10.0, run_once=write_history),
    Duty(name="declarations", every=15.0, run_once=withdraw_undeclared),
    Duty(name="unparking", every=60.0, run_once=unpark),
    Duty(name="housekeeping", every=60.0, run_once=keep_house),
)
