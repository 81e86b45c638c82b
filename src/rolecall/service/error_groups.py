"""Error groups: list them, show one, change their states, and retry their failed tasks."""

from __future__ import annotations

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError, ErrorGroupNotFound
from rolecall.model.operator.bulk import BulkPreview, StoredBulkAction
from rolecall.model.operator.error_groups import (
    STATES,
    ErrorGroup,
    ErrorGroupDetail,
    ErrorGroupFilter,
    ErrorState,
)
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.pages import Page
from rolecall.service.arguments import require_page
from rolecall.service.bulk_actions import DELAY, BulkActions
from rolecall.service.database import Database
from rolecall.sql import error_groups

ACTIONS = {"new": "reopen", "muted": "mute", "resolved": "resolve"}


class ErrorGroups:
    """The error groups of the pool."""

    def __init__(self, database: Database, bulk_actions: BulkActions) -> None:
        self._database = database
        self._bulk_actions = bulk_actions

    async def list(self, which: ErrorGroupFilter) -> Page[ErrorGroup]:
        """List error groups, those with the latest failures first. Raises ConfigError, InvalidCursor, FilterError."""
        require_page(which.limit)
        for state in which.states or ():
            if state not in STATES:
                raise ConfigError(f"{state!r} is not one of {', '.join(STATES)}", variable="state", value=state)
        if which.since is not None and which.since.tzinfo is None:
            raise ConfigError(f"{which.since.isoformat()} has no time zone", variable="since", value=which.since)
        return await self._database.run(error_groups.list_(which))

    async def get(self, group_id: int) -> ErrorGroupDetail:
        """Return one error group with its latest error. Raises ErrorGroupNotFound."""
        return await self._database.run(error_groups.get(group_id))

    async def mark(self, group_id: int, state: ErrorState) -> ErrorState:
        """Mute, resolve or reopen an error group. Return its earlier state. Raises ErrorGroupNotFound.

        A muted group stays muted. A resolved one is new again if it fails after that.
        """
        event = AuditEvent(f"errors.{ACTIONS[state]}", {"id": group_id})
        before = await self._database.act(event, error_groups.mark(group_id, state))
        if before is None:
            raise ErrorGroupNotFound(group_id=group_id)
        return before

    async def preview_retry(self, group_id: int) -> BulkPreview:
        """Count the failed tasks of an error group. Raises ErrorGroupNotFound."""
        await self.get(group_id)
        return await self._bulk_actions.preview("retry", TaskFilter(error_group=group_id))

    async def retry(self, group_id: int, *, rate: float | None = None, delay: float = DELAY) -> StoredBulkAction:
        """Start a bulk action that retries the failed tasks of an error group, all at once or `rate` a second.

        Raises ErrorGroupNotFound, ConfigError.
        """
        await self.get(group_id)
        return await self._bulk_actions.start("retry", TaskFilter(error_group=group_id), rate=rate, delay=delay)
