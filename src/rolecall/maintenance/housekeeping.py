"""Makes the partitions of the coming days, and drops what is past its retention until nothing is."""

from __future__ import annotations

import asyncio
from collections import Counter
from time import monotonic

from rolecall.maintenance.duties import Runs
from rolecall.sql import retention

# Seconds: so much longer does one run not go on, as the coming days are looked after by the next one.
LONGEST = 300.0
# Seconds between two batches at least; else as many as the one before took: half of a session's time at most goes here.
PAUSE = 0.02


async def run_once(session: Runs) -> str | None:
    """Partitions first: they must stand before their day comes, whatever pruning runs into."""
    made = await session.run(retention.make_partitions())
    pruned = await _prune(session)
    told = [f"{number} {what}" for what, number in sorted(pruned.items()) if number]
    if made:
        told.insert(0, f"{made} partitions made")
    return f"Housekeeping: {', '.join(told)}" if told else None


async def _prune(session: Runs) -> Counter[str]:
    """Batch by batch, each a transaction, until nothing is due; what another process is at is left to it."""
    pruned: Counter[str] = Counter()
    end = monotonic() + LONGEST
    while (began := monotonic()) < end and (batch := await session.run(retention.prune_due())):
        pruned.update(batch)
        await asyncio.sleep(max(PAUSE, monotonic() - began))
    return pruned
