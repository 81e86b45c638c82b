"""Releases what expired owners hold: tasks of workers that died, hang, or lost their connection for too
long.
"""

from __future__ import annotations

from collections import Counter

from rolecall.maintenance.duties import Runs
from rolecall.sql import tasks

MOST_AT_ONCE = 1_000


async def run_once(session: Runs) -> str | None:
    """Rescue batch by batch until one comes back short, so that a mass crash is over in one run."""
    became: Counter[str] = Counter()
    while rescued := await session.run(tasks.rescue(MOST_AT_ONCE)):
        became.update(state.value for state in rescued.values())
        if len(rescued) < MOST_AT_ONCE:
            break
    if not became:
        return None
    told = ", ".join(f"{number} {state}" for state, number in sorted(became.items()))
    return f"Rescued {became.total()} tasks of lost workers: {told}"
