"""Tasks that somebody calls his own, under a title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["OwnedFilter", "OwnedTask"]


@dataclass(frozen=True, slots=True)
class OwnedTask:
    """A task, open or finished, with its title and who made it; the fields stand in the order of the columns read.

    `status` is a stored state or what is finer, `updated_at` when it finished, began, was claimed or was made.
    """

    id: int
    title: str
    owner: str
    payload: dict[str, Any]
    priority: int
    status: str
    worker_id: int | None
    attempt: int
    created_at: datetime
    scheduled_for: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedFilter:
    """Which of an owner's tasks, newest first: one by its id, those whose title holds a text, those in a status."""

    owner: str
    id: int | None = None
    text: str | None = None
    statuses: Sequence[str] | None = None
    skip: int = 0
    limit: int = 10
