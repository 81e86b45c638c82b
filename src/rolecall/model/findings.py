"""A problem that a check found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Severity(StrEnum):
    """A warning needs attention later, trouble needs attention now."""

    WARNING = "warning"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem in one sentence, the remedy, and the dashboard page (`path`) where it can be applied.

    `count` is the number of tasks or workers that it is about, and `since` its beginning, if known. The doctor sets
    `check`, the name of the check that found it, and `app`, the app that the check belongs to.
    """

    severity: Severity
    problem: str
    advice: str
    path: str | None = None
    count: int | None = None
    since: datetime | None = None
    check: str = ""
    app: str | None = None
