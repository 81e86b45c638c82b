"""Tasks with an owner and a title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class OwnedTask:
    """A task, open or finished, with its title and owner; the fields are in the order of the columns read.

    `status` is the stored state or a derived status. `updated_at` is when it finished, started, was claimed or was
    created.
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
    """Conditions for listing an owner's tasks, newest first: an id, a text in the title, and statuses."""

    owner: str
    id: int | None = None
    text: str | None = None
    statuses: Sequence[str] | None = None
    skip: int = 0
    limit: int = 10
