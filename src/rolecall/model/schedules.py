"""A rule that enqueues again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A stored, editable rule: every so many seconds, enqueue this.

    `first_run_at` of None means as soon as the schedule is stored.
    """

    name: str
    every: float
    handler: str | None = None
    role: str | None = None
    payload: Mapping[str, object] = field(default_factory=dict)
    priority: int = 0
    key: str | None = None
    enabled: bool = True
    first_run_at: datetime | None = None
