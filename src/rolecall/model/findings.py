"""One thing that is wrong, as a check tells it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Severity"]


class Severity(StrEnum):
    """A warning will hurt some day, trouble hurts now."""

    WARNING = "warning"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: a sentence about it, what to do, and the dashboard's page (`path`) where it is done.

    `check` is the name of the check that found it, `app` the app whose check it is; the doctor says both.
    """

    severity: Severity
    problem: str
    advice: str
    path: str | None = None
    check: str = ""
    app: str | None = None
