"""The capacities of keys, and the state of one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError
from rolecall.model.keys import KeyCapacity, KeyState
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.pages import Page, read_text_cursor, write_text_cursor
from rolecall.model.tasks import TaskSummary
from rolecall.service.arguments import require_page
from rolecall.service.database import Database
from rolecall.sql import finding, keys

LONGEST_KEY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDetail:
    """The current state of a key, and the first ten tasks that hold it."""

    key: KeyState
    tasks: list[TaskSummary]


class KeyCapacities:
    """The capacities of keys and patterns. The default is 1."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, cursor: str | None = None, limit: int = 50) -> Page[KeyCapacity]:
        """List the capacities of keys and patterns, by their text. Raises ConfigError, InvalidCursor."""
        require_page(limit)
        after = "" if cursor is None else read_text_cursor(cursor)
        found = await self._database.run(keys.capacities(after, limit + 1))
        following = write_text_cursor(found[limit - 1].pattern) if len(found) > limit else None
        return Page(items=found[:limit], next_cursor=following)

    async def show(self, key: str) -> KeyDetail:
        """Return the state of a key, even if no task has it. Raises ConfigError for an invalid key."""
        if not 1 <= len(key) <= LONGEST_KEY:
            raise ConfigError(f"must have 1 to {LONGEST_KEY} characters", variable="key", value=key)
        [now] = await self._database.run(keys.read_states([key]))
        holders = await self._database.run(finding.tasks(TaskFilter(ids=now.holders)))
        return KeyDetail(key=now, tasks=holders.items)

    async def busiest(self, limit: int = 10) -> Sequence[KeyState]:
        """Return the state of the keys for which most due tasks wait. Raises ConfigError."""
        require_page(limit)
        found = await self._database.run(keys.busiest(limit))
        return await self._database.run(keys.read_states(found))

    async def set(self, pattern: str, capacity: int) -> int | None:
        """Set the capacity of a key, or of each key that matches a pattern, which overrides the app's declaration.

        Returns the previously set capacity, or None. Raises InvalidDeclaration.
        """
        event = AuditEvent("key_capacities.set", {"pattern": pattern, "capacity": capacity})
        return await self._database.act(event, keys.set_capacity(pattern, capacity))

    async def reset(self, pattern: str) -> int | None:
        """Remove a set capacity. The app's declaration applies again, or the longest matching pattern, or 1.

        Returns and raises the same as `set`.
        """
        event = AuditEvent("key_capacities.reset", {"pattern": pattern})
        return await self._database.act(event, keys.set_capacity(pattern, None))
