"""A role's pause: none of its tasks begins, whatever runs goes on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = ["EndedPause", "Pause"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause that stands; `paused_until` of None: until somebody resumes the role."""

    role: str
    paused_at: datetime
    paused_until: datetime | None
    paused_by: str | None


@dataclass(frozen=True, slots=True)
class EndedPause:
    """A pause whose time is up, and how long it was meant to be."""

    role: str
    seconds: float
    paused_by: str | None
