"""Counts and history of the pool, and the names in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rolecall.model.errors import ConfigError
from rolecall.model.operator.history import History, points_of, scale_for
from rolecall.model.operator.insight import FoundName, NameKind, RoleCount
from rolecall.service.arguments import require_between, role_not_found
from rolecall.service.database import Database
from rolecall.sql import history, insight, schedules

MOST_MINUTES = 90 * 24 * 60
MOST_NAMES = 8


class Insight:
    """The pool in numbers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self) -> list[RoleCount]:
        """Count tasks by role and state."""
        return await self._database.run(insight.counts())

    async def history(
        self, role: str | None = None, minutes: int = 60, *, handler: str | None = None, ago: timedelta = timedelta()
    ) -> History:
        """Return the history of one or all roles until now, in up to 150 steps. Raises RoleNotFound, ConfigError.

        `handler` selects a handler of the role. `ago` is how much earlier the history ends, at least two hours if any.
        """
        require_between("minutes", minutes, 1, MOST_MINUTES)
        if handler is not None and role is None:
            raise ConfigError("needs the role of the handler too", variable="handler", value=handler)
        if role is not None and role not in {each.name for each in await self._database.run(insight.roles())}:
            raise await role_not_found(role, self._database)
        length = timedelta(minutes=minutes)
        scale = scale_for(minutes, length + ago if ago else ago)
        found = await self._database.run(history.known_history())
        now = found[0] if found else await self._database.run(schedules.present())
        since, until = found[1:] if found else (now, now)
        end = scale.begin(now - ago) if ago else now
        begin = scale.begin(end - length) + timedelta(seconds=0 if ago else scale.width)
        bins = await self._database.run(
            history.history_bins(role, scale, begin, end=end if ago else None, handler=handler)
        )
        return History(
            role=role,
            handler=handler,
            step_seconds=scale.width,
            since=since if found else None,
            until=until if found else None,
            points=points_of(bins, scale, begin, end, (since, until)),
        )

    async def find_names(self, kinds: Sequence[NameKind], text: str) -> Sequence[FoundName]:
        """Find the names of these kinds that contain a text, a few of each kind, in the order of the kinds."""
        if not text.isprintable():
            return ()
        return await self._database.run(insight.find_names(kinds, text, MOST_NAMES))
