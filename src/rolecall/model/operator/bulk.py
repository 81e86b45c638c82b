"""Bulk actions: actions on all tasks that match a filter, which maintenance works off in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rolecall.model.operator.insight import BulkAction

BulkState = Literal["waiting", "running", "completed", "stopped", "withdrawn"]
# The outcomes that are changes.
CHANGED: Mapping[BulkAction, frozenset[str]] = {
    "retry": frozenset({"pending"}),
    "cancel": frozenset({"cancelled", "requested"}),
    "delete": frozenset({"deleted"}),
}


@dataclass(frozen=True, slots=True)
class BulkCount:
    """The number of tasks of a role, handler and error group that a bulk action would change."""

    role: str
    handler: str
    error_group: int | None
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPreview:
    """The tasks that a bulk action would change now, the largest groups first.

    If counting took too long, `is_complete` is false and `number` counts only the newest tasks.
    """

    action: BulkAction
    number: int
    is_complete: bool
    groups: Sequence[BulkCount]


@dataclass(frozen=True, slots=True)
class StoredBulkAction:
    """A stored bulk action; the fields are in the order of the columns read.

    It waits until `starts_at` and can be withdrawn until then. `total` is the number of tasks that matched when it
    was stored, None if counting took too long. `done` counts the tasks that it has acted on, and `outcomes` their
    outcomes.
    """

    id: int
    action: BulkAction
    filter: Mapping[str, Any]
    rate: float | None
    actor: str
    created_at: datetime
    starts_at: datetime
    finished_at: datetime | None
    state: BulkState
    total: int | None
    done: int
    outcomes: Mapping[str, int]
    stopped_by: str | None

    @property
    def changed(self) -> int:
        """The number of tasks that it has changed."""
        return sum(number for outcome, number in self.outcomes.items() if outcome in CHANGED[self.action])
