"""The plots of the pool, of a role and of a handler, shared by all viewers: history, earlier times, and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from rolecall.model.audit import AuditFilter, StoredAuditEvent
from rolecall.model.operator.history import EarlierHistory, History
from rolecall.service.audit import Audit
from rolecall.service.database import Database
from rolecall.service.insight import Insight
from rolecall.service.shared import SharedResults

# The kinds of changes that can explain a bend in a plot, and how many of them are returned.
FAR_REACHING = ("bulk", "handlers", "key_capacities", "roles", "scaling", "workers")
MOST_CHANGES = 20
EARLIER = {"yesterday": timedelta(days=1), "last week": timedelta(days=7)}
# Earlier times change little, so they are read again only every few minutes, with enough points until then.
EARLIER_SECONDS = 300.0
MARGIN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotScope:
    """The tasks and the latest minutes that plots show: those of a role, of one of its handlers, or of the pool."""

    role: str | None = None
    handler: str | None = None
    minutes: int = 60


class Plots:
    """The content of the plots of each scope. Raises RoleNotFound and ConfigError for an invalid scope."""

    def __init__(self, database: Database, *, patience: float | None = None) -> None:
        self._insight = Insight(database)
        self._audit = Audit(database)
        self._histories = SharedResults(self._read_history, seconds=5.0, patience=patience)
        self._changes = SharedResults(self._read_changes, seconds=5.0, patience=patience)
        self._earlier = SharedResults(self._read_earlier, seconds=EARLIER_SECONDS, patience=patience)

    async def history(self, scope: PlotScope) -> History:
        """Return the history until now."""
        return await self._histories.get(scope)

    async def changes(self, scope: PlotScope) -> Sequence[StoredAuditEvent]:
        """Return the latest changes within the history that affect many tasks."""
        return await self._changes.get(scope)

    async def earlier(self, scope: PlotScope) -> Sequence[EarlierHistory]:
        """Return the same time yesterday and a week ago, if the plots are shorter than that."""
        return await self._earlier.get(scope)

    async def _read_history(self, scope: PlotScope) -> History:
        return await self._insight.history(scope.role, scope.minutes, handler=scope.handler)

    async def _read_changes(self, scope: PlotScope) -> Sequence[StoredAuditEvent]:
        since = (await self.history(scope)).points[0].at
        which = AuditFilter(kinds=FAR_REACHING, thing=scope.role, since=since, limit=MOST_CHANGES)
        return await self._audit.list(which)

    async def _read_earlier(self, scope: PlotScope) -> Sequence[EarlierHistory]:
        length = timedelta(minutes=scope.minutes)
        minutes = scope.minutes + int(MARGIN.total_seconds() / 60)
        return [
            EarlierHistory(
                label=label,
                ago=ago,
                history=await self._insight.history(scope.role, minutes, handler=scope.handler, ago=ago - MARGIN),
            )
            for label, ago in EARLIER.items()
            if length <= ago
        ]
