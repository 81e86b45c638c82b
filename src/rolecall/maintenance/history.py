"""Writes down what has finished since the last time, and what is open, so that the past can be told."""

from __future__ import annotations

from rolecall.maintenance.duties import Runs
from rolecall.sql import history


async def run_once(session: Runs) -> None:
    """Hour by hour, until all is written down that can be."""
    while await session.run(history.roll_up()):
        pass
