"""The maintenance duties. Each returns a log line about its work, or None if there was nothing to do.

Duties work in batches, one transaction each, until nothing is left. Rows that another process has locked are
skipped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from rolecall.maintenance.cron import plan
from rolecall.maintenance.deaths import MOST_RESCUED, describe_counts, rescue_in_batches, rescue_sessionless
from rolecall.maintenance.runs import DutySession
from rolecall.sql import bulk_actions, claims, error_groups, keys, retention, roles, schedules, workers
from rolecall.sql.schedules import Fired

MOST_FIRED = 100
MOST_NAMED = 10
# Seconds for which one run prunes at most, so that the next partitions are created in time.
LONGEST_PRUNING = 300.0
# Seconds between two batches at least; otherwise as long as the batch took, so that at most half of a session is used.
PAUSE = 0.02

log = logging.getLogger("rolecall.maintenance")


RunOnce = Callable[[DutySession], Awaitable[str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """A duty that runs every `every` seconds, once for all processes together.

    It also runs when the engine requests it, such as for a schedule that is due (`rolecall.duties_called_for`). The
    first statement of `run_once` is executed in the transaction that takes the duty, so it must do a part of the
    work.
    """

    name: str
    every: float
    run_once: RunOnce


async def rescue(session: DutySession) -> str | None:
    """Release the tasks whose leases have expired and are not renewed during a short wait.

    After a standstill of the server all leases have expired; the wait lets living workers renew theirs.
    """
    # This call also rescues tasks for reasons other than their lease.
    statuses = Counter(state.value for state in (await session.run(claims.rescue_found([], []))).values())
    ids, fences, wait = await session.run(claims.find_expired())
    if ids:
        await asyncio.sleep(wait)
    for first in range(0, len(ids), MOST_RESCUED):
        batch = slice(first, first + MOST_RESCUED)
        statuses.update(
            state.value for state in (await session.run(claims.rescue_found(ids[batch], fences[batch]))).values()
        )
    if not statuses:
        return None
    return f"Rescued {statuses.total()} tasks of lost workers: {describe_counts(statuses)}"


async def expire(session: DutySession) -> str | None:
    """Cancel the tasks that have expired before they started."""
    statuses = await rescue_in_batches(session, claims.expire, MOST_RESCUED)
    return f"Cancelled {statuses.total()} expired tasks" if statuses else None


async def fire(session: DutySession) -> str | None:
    """Fire the schedules that are due. The engine fires each of their times only once."""
    dealt_with = [*await _fire_intervals(session), *await fire_cron(session)]
    fired = [schedule for schedule, task_id in dealt_with if task_id is not None]
    return f"Fired {', '.join(fired)}" if fired else None


async def fire_cron(session: DutySession) -> list[Fired]:
    """Compute the fire times of due cron schedules and store them. Another process may be first."""
    fired: list[Fired] = []
    while due := await session.run(schedules.due_cron(MOST_FIRED)):
        dealt_with = await session.run(schedules.fire_cron([plan(each) for each in due]))
        fired += dealt_with
        if len(due) < MOST_FIRED:
            break
    return fired


async def _fire_intervals(session: DutySession) -> list[Fired]:
    fired: list[Fired] = []
    while batch := await session.run(schedules.fire(MOST_FIRED)):
        fired += batch
        if len(batch) < MOST_FIRED:
            break
    return fired


async def end_pauses(session: DutySession) -> str | None:
    """End the pauses that have expired.

    Each is logged as a warning, so that operators know that the role works again.
    """
    for pause in await session.run(roles.end_pauses()):
        by = f" by {pause.paused_by}" if pause.paused_by else ""
        log.warning("Role %s continues after its pause of %g s%s", pause.role, pause.seconds, by)
    return None


async def count_finished(session: DutySession) -> None:
    """Count the tasks that have finished since the last run, day by day."""
    while await session.run(retention.roll_up_counts()):
        pass


async def write_history(session: DutySession) -> None:
    """Record finished and open tasks in the history, hour by hour."""
    while await session.run(retention.roll_up_history()):
        pass


async def group_failures(session: DutySession) -> None:
    """Add new failures to their error groups."""
    while await session.run(error_groups.group_failures()):
        pass


async def work_off_bulk_actions(session: DutySession) -> None:
    """Work off the bulk actions that are due, batch by batch, one transaction each."""
    is_more_due = True
    while is_more_due:
        is_more_due, problem = await session.run(bulk_actions.work_off())
        if problem is not None:
            log.warning("A batch failed, trying again in 10 s: %s", problem)


async def unpark(session: DutySession) -> str | None:
    """Unpark tasks whose keys have free capacity, as a safety net.

    Each is logged as a warning, because the engine should have unparked it before.
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
        log.warning("Unparked tasks whose keys had free capacity: %s%s", named, beyond)
    return None


async def withdraw_undeclared(session: DutySession) -> None:
    """Withdraw declarations that no live worker of an app makes any more, and log each as a warning."""
    for app, kind, name in await session.run(workers.withdraw_undeclared()):
        log.warning("Withdrew %s %s: app %s no longer declares it", kind, name, app)


async def prune_and_partition(session: DutySession) -> str | None:
    """Create the partitions of the coming days, then delete what is past its retention.

    In this order, because a partition must exist before its day begins, even if pruning fails.
    """
    made = await session.run(retention.make_partitions())
    pruned = await _prune(session)
    facts = [f"{number} {what}" for what, number in sorted(pruned.items()) if number]
    if made:
        facts.insert(0, f"{made} partitions created")
    return f"Housekeeping: {', '.join(facts)}" if facts else None


async def _prune(session: DutySession) -> Counter[str]:
    """Prune batch by batch, one transaction each, until nothing is due or LONGEST_PRUNING seconds have passed."""
    pruned: Counter[str] = Counter()
    end = monotonic() + LONGEST_PRUNING
    while (began := monotonic()) < end and (batch := await session.run(retention.prune_due())):
        pruned.update(batch)
        await asyncio.sleep(max(PAUSE, monotonic() - began))
    return pruned


DUTIES = (
    Duty(name="rescue", every=5.0, run_once=rescue),
    Duty(name="deaths", every=5.0, run_once=rescue_sessionless),
    Duty(name="schedules", every=60.0, run_once=fire),
    Duty(name="pauses", every=60.0, run_once=end_pauses),
    Duty(name="expiry", every=60.0, run_once=expire),
    Duty(name="counting", every=10.0, run_once=count_finished),
    Duty(name="history", every=10.0, run_once=write_history),
    Duty(name="errors", every=10.0, run_once=group_failures),
    Duty(name="bulk", every=60.0, run_once=work_off_bulk_actions),
    Duty(name="declarations", every=15.0, run_once=withdraw_undeclared),
    Duty(name="unparking", every=60.0, run_once=unpark),
    Duty(name="housekeeping", every=60.0, run_once=prune_and_partition),
)
