"""The current problems of a pool, as the engine finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class ProblemKind(StrEnum):
    """The current problems, worst first. `rolecall.problems` in the engine describes each kind."""

    NO_WORKER = "no_worker"
    NO_HANDLER = "no_handler"
    HANGING = "hanging"
    FAILING = "failing"
    DEAD_WORKERS = "dead_workers"
    SILENT_WORKERS = "silent_workers"
    WAITING = "waiting"
    GROWING = "growing"
    BACKING_OFF = "backing_off"
    STALLED_HISTORY = "stalled_history"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with all roles, handlers and workers that have the same cause.

    `number` counts its tasks or workers. It exists since `since`, which is `seconds` ago. `figures` are those that
    only its kind has.
    """

    kind: ProblemKind
    roles: Sequence[str]
    handlers: Sequence[str]
    workers: Sequence[int]
    number: int
    since: datetime | None
    seconds: float | None
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProblemChange:
    """A problem that receivers of alerts do not know yet, or None for `problem` if it is over.

    `subjects` are its roles, handlers or ids of workers.
    """

    kind: ProblemKind
    subjects: Sequence[str]
    problem: Problem | None
