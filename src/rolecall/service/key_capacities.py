"""What an operator may say of how many tasks of one key run at once, and ask about a key."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError
from rolecall.model.insight import TaskFilter
from rolecall.model.keys import KeyCapacity, KeyNow
from rolecall.model.pages import Page, read_text_cursor, write_text_cursor
from rolecall.model.tasks import TaskSummary
from rolecall.service.arguments import require_page
from rolecall.service.database import Database
from rolecall.sql import finding, keys

LONGEST_KEY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDetail:
    """A key at this moment, and the first ten of the tasks that hold it."""

    key: KeyNow
    tasks: list[TaskSummary]


class KeyCapacities:
    """How many tasks of a key run at once: one by default."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, cursor: str | None = None, limit: int = 50) -> Page[KeyCapacity]:
        """A page of the capacities of keys and patterns, by their text. Raises ConfigError, InvalidCursor."""
        require_page(limit)
        after = "" if cursor is None else read_text_cursor(cursor)
        found = await self._database.run(keys.capacities(after, limit + 1))
        following = write_text_cursor(found[limit - 1].pattern) if len(found) > limit else None
        return Page(items=found[:limit], next_cursor=following)

    async def show(self, key: str) -> KeyDetail:
        """One key at this moment, whether or not a task has it. Raises ConfigError for what no key can be."""
        if not 1 <= len(key) <= LONGEST_KEY:
            raise ConfigError(f"a key has 1 to {LONGEST_KEY} characters", variable="key", value=key)
        [now] = await self._database.run(keys.now([key]))
        holders = await self._database.run(finding.tasks(TaskFilter(ids=now.holders)))
        return KeyDetail(key=now, tasks=holders.items)

    async def set(self, pattern: str, capacity: int) -> int | None:
        """Let so many tasks of a key, or of each key that a pattern fits, run at once, whatever the app declares.

        Returns what was set until now, None where nothing was. Raises InvalidDeclaration.
        """
        event = AuditEvent("key_capacities.set", {"pattern": pattern, "capacity": capacity})
        return await self._database.act(event, keys.set_capacity(pattern, capacity))

    async def reset(self, pattern: str) -> int | None:
        """Take back what was set: the app's declaration counts again, else the longest pattern that fits, else one.

        Returns and raises as `set` does.
        """
        event = AuditEvent("key_capacities.reset", {"pattern": pattern})
        return await self._database.act(event, keys.set_capacity(pattern, None))
