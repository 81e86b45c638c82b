"""Brings back tasks that are parked though their keys have room: the net below all that should have done so before."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic

from rolecall.maintenance.duties import Runs
from rolecall.sql import keys

# Seconds between two steps at least; else as many as the one before took: half of a session's time at most goes here.
PAUSE = 0.02
NAMED = 10

log = logging.getLogger("rolecall.maintenance")


async def run_once(session: Runs) -> str | None:
    """Warn instead of returning a line: nothing should leave such a task behind, so somebody should hear of it."""
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
        named = ", ".join(map(str, ids[:NAMED]))
        beyond = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
        log.warning("Brought back tasks that were parked though their keys had room: %s%s", named, beyond)
    return None
