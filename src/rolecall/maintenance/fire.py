"""Fires due schedules; any number of processes may, the engine lets each occasion happen once."""

from __future__ import annotations

from rolecall.maintenance.duties import Runs
from rolecall.sql import schedules

MOST_AT_ONCE = 100


async def run_once(session: Runs) -> str | None:
    """Fire batch by batch until one comes back short."""
    fired: list[str] = []
    while batch := await session.run(schedules.fire(MOST_AT_ONCE)):
        fired += [name for name, _task_id in batch]
        if len(batch) < MOST_AT_ONCE:
            break
    return f"Fired {', '.join(fired)}" if fired else None
