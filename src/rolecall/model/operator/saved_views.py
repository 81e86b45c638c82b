"""Saved views: queries of tasks under a name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SavedView:
    """A query of tasks under a name, and who saved it when."""

    id: int
    name: str
    query: str
    saved_by: str
    saved_at: datetime
