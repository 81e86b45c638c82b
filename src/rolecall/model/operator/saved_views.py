"""Saved views: queries of tasks under a name, and names that are found by a part of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

NameKind = Literal["role", "handler", "schedule", "worker", "key"]


@dataclass(frozen=True, slots=True)
class SavedView:
    """A query of tasks under a name, and who saved it when."""

    id: int
    name: str
    query: str
    saved_by: str
    saved_at: datetime


@dataclass(frozen=True, slots=True)
class FoundName:
    """The name of a thing. Roles, handlers and keys have no id."""

    kind: NameKind
    id: int | None
    name: str
