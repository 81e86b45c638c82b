"""Maintenance on demand: the same work that workers do regularly."""

from __future__ import annotations

from collections import Counter

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError
from rolecall.model.states import TaskState
from rolecall.service.database import Database
from rolecall.sql import claims, retention

BATCH = 1_000
SHORTEST_AUDIT, LONGEST_AUDIT = 86_400.0, 100 * 365.25 * 86_400


class Maintenance:
    """Rescue and retention, on demand."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rescue(self, *, silent_for: float = 0.0) -> dict[int, TaskState]:
        """Release all tasks whose leases have expired, one batch per transaction. Return their new states.

        With `silent_for`, only tasks whose leases were not renewed for that many seconds.
        """
        event = AuditEvent("maintenance.rescue", {"silent_for": silent_for})
        rescued: dict[int, TaskState] = {}
        while batch := await self._database.act(event, claims.rescue(BATCH, silent_for)):
            rescued |= batch
            if len(batch) < BATCH:
                break
        return rescued

    async def prune(self) -> dict[str, int]:
        """Delete records past their retention, in bounded transactions. Return the numbers by kind."""
        total: Counter[str] = Counter()
        while any((share := await self._database.act(AuditEvent("maintenance.prune"), retention.prune())).values()):
            total.update(share)
        return dict(total)

    async def keep_audit(self, seconds: float) -> None:
        """Set the retention of the audit log. Raises ConfigError for less than a day or more than 100 years."""
        if not SHORTEST_AUDIT <= seconds <= LONGEST_AUDIT:
            problem = f"the retention must be a day to a hundred years, got {seconds:g} s"
            raise ConfigError(problem, variable="keep_audit", value=seconds)
        await self._database.act(
            AuditEvent("maintenance.keep_audit", {"seconds": seconds}), retention.keep_audit(seconds)
        )
