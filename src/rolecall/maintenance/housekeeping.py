"""Makes the partitions of the coming days, and drops what the roles no longer want to keep."""

from __future__ import annotations

from rolecall.maintenance.duties import Runs
from rolecall.sql import retention


async def run_once(session: Runs) -> str | None:
    """Partitions first: they must stand before their day comes, whatever pruning runs into."""
    made = await session.run(retention.make_partitions())
    pruned = await session.run(retention.prune())
    told = [f"{number} {what}" for what, number in sorted(pruned.items()) if number]
    if made:
        told.insert(0, f"{made} partitions made")
    return f"Housekeeping: {', '.join(told)}" if told else None
