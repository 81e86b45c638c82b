"""Fires due schedules; any number of processes may, the engine lets each occasion happen once."""

from __future__ import annotations

from rolecall.maintenance.duties import Runs
from rolecall.maintenance.slots import plan
from rolecall.sql import schedules
from rolecall.sql.schedules import Fired

MOST_AT_ONCE = 100


async def run_once(session: Runs) -> str | None:
    """Fire what is due, by interval and by cron expression."""
    dealt_with = [*await _fire_intervals(session), *await fire_cron(session)]
    fired = [schedule for schedule, task_id in dealt_with if task_id is not None]
    return f"Fired {', '.join(fired)}" if fired else None


async def fire_cron(session: Runs) -> list[Fired]:
    """Compute the slots of what is due by cron expression, and hand them over; another process may be first."""
    fired: list[Fired] = []
    while due := await session.run(schedules.due_cron(MOST_AT_ONCE)):
        dealt_with = await session.run(schedules.fire_cron([plan(each) for each in due]))
        fired += dealt_with
        if len(due) < MOST_AT_ONCE:
            break
    return fired


async def _fire_intervals(session: Runs) -> list[Fired]:
    fired: list[Fired] = []
    while batch := await session.run(schedules.fire(MOST_AT_ONCE)):
        fired += batch
        if len(batch) < MOST_AT_ONCE:
            break
    return fired
