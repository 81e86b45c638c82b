"""The log lines of a task's attempts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

LogLevel = Literal["debug", "info", "warning", "error", "off"]
StackOutcome = Literal["answered", "requested", "not_running", "not_requested"]
LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
# The numbers of the standard library; nothing is logged at the level `off`.
NUMBERS: dict[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "off": 1_000}


@dataclass(frozen=True, slots=True)
class LogLine:
    """A log line of an attempt. The fields are also the columns that are read.

    Several claims can have the same attempt number; `fence` distinguishes them. `number` counts the lines of a claim
    from 1. A gap in the numbers stands for lines that were not stored. `level` is a number of the standard library.
    """

    attempt: int
    fence: int
    number: int
    at: datetime
    level: int
    logger: str
    message: str


@dataclass(frozen=True, slots=True)
class HandlerStack:
    """The stack of a handler that runs, as somebody requested it. The fields are also the columns that are read.

    `at` is the time of the worker's answer, or of the request while `stack` is None because the worker has not
    answered.
    """

    attempt: int
    fence: int
    at: datetime
    stack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackReport:
    """The latest request for a handler's stack, with the attempt and the time of the answer.

    `requested` means that the worker has not answered. The other fields are None for `not_running` and
    `not_requested`.
    """

    task_id: int
    outcome: StackOutcome
    attempt: int | None = None
    at: datetime | None = None
    stack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which lines of a task to read: those of an attempt, those from a level, and those after a page.

    With `last`, the last lines are read instead of the first ones.
    """

    attempt: int | None = None
    level: LogLevel | None = None
    cursor: str | None = None
    limit: int = 1_000
    last: bool = False

    def conditions(self) -> dict[str, object]:
        """Return the conditions, without those that are not set."""
        level = None if self.level is None else NUMBERS[self.level]
        conditions = {"attempt": self.attempt, "level": level}
        return {name: value for name, value in conditions.items() if value is not None}
