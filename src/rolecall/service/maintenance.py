"""What an operator may do at once that the workers do anyway, every so often."""

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
        """Release all tasks whose lease ran out, a batch a transaction; returns what became of each.

        With `silent_for`, only those that nobody has renewed for so many seconds.
        """
        event = AuditEvent("maintenance.rescue", {"silent_for": silent_for})
        rescued: dict[int, TaskState] = {}
        while batch := await self._database.act(event, claims.rescue(BATCH, silent_for)):
            rescued |= batch
            if len(batch) < BATCH:
                break
        return rescued

    async def prune(self) -> dict[str, int]:
        """Drop what the roles no longer keep, a bounded share a transaction; returns how much, by kind."""
        total: Counter[str] = Counter()
        while any((share := await self._database.act(AuditEvent("maintenance.prune"), retention.prune())).values()):
            total.update(share)
        return dict(total)

    async def keep_audit(self, seconds: float) -> None:
        """Keep the audit log for so long from now on. Raises ConfigError for less than a day or more than 100 years."""
        if not SHORTEST_AUDIT <= seconds <= LONGEST_AUDIT:
            problem = f"{seconds:g} s is not between a day and a hundred years"
            raise ConfigError(problem, variable="keep_audit", value=seconds)
        await self._database.act(
            AuditEvent("maintenance.keep_audit", {"seconds": seconds}), retention.keep_audit(seconds)
        )
