"""Counts what has finished since the last time, so that nobody has to read it all to know how much it is."""

from __future__ import annotations

from rolecall.maintenance.duties import Runs
from rolecall.sql import retention


async def run_once(session: Runs) -> None:
    """Day by day, until all is counted that can be."""
    while await session.run(retention.roll_up_counts()):
        pass
