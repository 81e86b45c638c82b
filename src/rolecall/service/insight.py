"""Counts and history of the pool."""

from __future__ import annotations

from datetime import timedelta

from rolecall.model.operator.history import History, points_of, scale_for
from rolecall.model.operator.insight import RoleCount
from rolecall.service.arguments import require_between, role_not_found
from rolecall.service.database import Database
from rolecall.sql import history, insight, schedules

MOST_DAYS = 90
MOST_MINUTES = MOST_DAYS * 24 * 60


class Insight:
    """The pool in numbers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self) -> list[RoleCount]:
        """Count tasks by role and state."""
        return await self._database.run(insight.counts())

    async def history(self, role: str | None = None, minutes: int = 60, days_ago: int = 0) -> History:
        """Return the history of one or all roles until now, or until this time some days ago, in about 150 steps.

        Older periods have longer steps. Raises RoleNotFound, ConfigError.
        """
        require_between("minutes", minutes, 1, MOST_MINUTES)
        require_between("days_ago", days_ago, 0, MOST_DAYS)
        if role is not None and role not in {each.name for each in await self._database.run(insight.roles())}:
            raise await role_not_found(role, self._database)
        scale = scale_for(minutes, days_ago)
        found = await self._database.run(history.known_history())
        now = found[0] if found else await self._database.run(schedules.present())
        since, until = found[1:] if found else (now, now)
        begin, end = scale.period(now - timedelta(days=days_ago), timedelta(minutes=minutes), is_past=days_ago > 0)
        bins = await self._database.run(history.history_bins(role, scale, begin, None if days_ago == 0 else end))
        return History(
            role=role,
            step_seconds=scale.width,
            since=since if found else None,
            until=until if found else None,
            points=points_of(bins, scale, begin, end, (since, until)),
        )
