"""Bulk actions: retry, cancel or delete all tasks that match a filter, as a stored job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from time import monotonic

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import BulkActionNotFound, ConfigError, NoFilter
from rolecall.model.operator.bulk import BulkCount, BulkPreview, StoredBulkAction
from rolecall.model.operator.insight import BulkAction, TaskFilter
from rolecall.model.operator.pages import Page, page_by_id, position
from rolecall.service.arguments import require_page, require_rate, require_valid_filter
from rolecall.service.database import Database
from rolecall.sql import bulk_actions

# Seconds in which a bulk action can be withdrawn.
DELAY = 10.0
LONGEST_DELAY = 86_400.0
# Seconds after which no further page is counted.
LONGEST_COUNT = 5.0


class BulkActions:
    """Actions on all tasks that match a filter and exist when the action is stored. Maintenance works them off."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def preview(self, action: BulkAction, which: TaskFilter) -> BulkPreview:
        """Count the tasks that an action would change, by role, handler and error group.

        Raises NoFilter, ConfigError.
        """
        if not which.conditions():
            raise NoFilter
        require_valid_filter(which)
        counts: Counter[tuple[str, str, int | None]] = Counter()
        end = monotonic() + LONGEST_COUNT
        before: int | None = None
        while True:
            page, before = await self._database.run(bulk_actions.count(action, which, before))
            for group in page:
                counts[group.role, group.handler, group.error_group] += group.number
            if before is None or monotonic() >= end:
                break
        groups = [BulkCount(*group, number) for group, number in counts.most_common()]
        return BulkPreview(action=action, number=counts.total(), is_complete=before is None, groups=groups)

    async def start(
        self, action: BulkAction, which: TaskFilter, *, rate: float | None = None, delay: float = DELAY
    ) -> StoredBulkAction:
        """Store a bulk action. It starts after `delay` seconds, and until then can be withdrawn.

        With a `rate`, so many of the retried tasks are due each second. Raises NoFilter, ConfigError.
        """
        require_rate(action, rate)
        if not 0 <= delay <= LONGEST_DELAY:
            raise ConfigError(f"must be 0 to {LONGEST_DELAY:g} seconds, got {delay:g}", variable="delay", value=delay)
        found = await self.preview(action, which)
        total = found.number if found.is_complete else None
        detail = {"which": which.conditions(), "total": total, **({} if rate is None else {"rate": rate})}
        statement = bulk_actions.start(action, which, self._database.actor.name, total, rate, delay)
        return await self.get(await self._database.act(AuditEvent(f"bulk.{action}", detail), statement))

    async def stop(self, bulk_action_id: int) -> StoredBulkAction:
        """Stop a bulk action, or withdraw it if it has not started. A finished one is returned unchanged.

        Tasks that it has changed stay changed. Raises BulkActionNotFound.
        """
        event = AuditEvent("bulk.stop", {"id": bulk_action_id})
        before = await self._database.act(event, bulk_actions.stop(bulk_action_id, self._database.actor.name))
        if before is None:
            raise BulkActionNotFound(bulk_action_id=bulk_action_id)
        return await self.get(bulk_action_id)

    async def get(self, bulk_action_id: int) -> StoredBulkAction:
        """Return one bulk action with its progress. Raises BulkActionNotFound."""
        return await self._database.run(bulk_actions.get(bulk_action_id))

    async def named(self, ids: Sequence[int]) -> dict[int, StoredBulkAction]:
        """Return bulk actions by id, without those that are not stored any more."""
        return await self._database.run(bulk_actions.read_many(ids))

    async def list(self, cursor: str | None = None, limit: int = 50) -> Page[StoredBulkAction]:
        """List bulk actions, newest first. Raises ConfigError, InvalidCursor."""
        require_page(limit)
        return page_by_id(await self._database.run(bulk_actions.list_(position(cursor), limit + 1)), limit)
