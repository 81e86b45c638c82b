"""The messages that receivers of alerts get."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import uuid4

from rolecall.model.operator.problems import Problem, ProblemChange, ProblemKind
from rolecall.service import alerts

TITLES = {
    ProblemKind.NO_WORKER: "No worker",
    ProblemKind.NO_HANDLER: "No handler",
    ProblemKind.HANGING: "Hanging tasks",
    ProblemKind.FAILING: "Failing tasks",
    ProblemKind.DEAD_WORKERS: "Dead workers",
    ProblemKind.SILENT_WORKERS: "Silent workers",
    ProblemKind.WAITING: "Waiting tasks",
    ProblemKind.GROWING: "Growing backlog",
    ProblemKind.BACKING_OFF: "Workers that claim no tasks",
    ProblemKind.STALLED_HISTORY: "Stalled history",
    ProblemKind.PAUSED: "Paused roles",
}
MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An alert, with an id that no other pool uses.

    `subjects` are the roles, handlers or ids of workers, and `url` leads to their list in the dashboard.
    """

    change: Literal["opened", "resolved", "test"]
    id: str = field(default_factory=lambda: str(uuid4()))
    kind: str
    title: str
    sentence: str
    subjects: Sequence[str] = ()
    advice: str | None = None
    severity: str | None = None
    count: int | None = None
    since: datetime | None = None
    url: str | None = None


def messages(changes: Iterable[ProblemChange], dashboard: str | None) -> Iterator[Message]:
    """Yield a message for each change, with links if the address of the dashboard is known."""
    for change in changes:
        yield _opened(change, change.problem, dashboard) if change.problem else _resolved(change)


def sample_message() -> Message:
    """Return a message that tests whether a receiver gets alerts."""
    return Message(change="test", kind="test", title="Test", sentence="This is a test of Rolecall's alerts.")


def _opened(change: ProblemChange, problem: Problem, dashboard: str | None) -> Message:
    [alert] = alerts.of_problems([problem])
    return Message(
        change="opened",
        kind=change.kind,
        title=TITLES[change.kind],
        sentence=alert.sentence,
        subjects=change.subjects,
        advice=alert.advice,
        severity=alert.severity,
        count=alert.count,
        since=alert.since,
        url=f"{dashboard.rstrip('/')}{alert.path}" if dashboard and alert.path else None,
    )


def _resolved(change: ProblemChange) -> Message:
    title = TITLES[change.kind]
    more = len(change.subjects) - MOST_NAMED
    named = ", ".join(change.subjects[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    sentence = f"{title}: no longer{f' ({named})' if named else ''}."
    return Message(change="resolved", kind=change.kind, title=title, sentence=sentence, subjects=change.subjects)
