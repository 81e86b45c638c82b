"""One task for people: its timeline with failed attempts, and the actions that its state allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rolecall.model.operator.insight import Attempt, TimelineEntry
from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.formats import count

STORY_WORDS: Mapping[str, tuple[str, str]] = {
    "created": ("Enqueued", "muted"),
    "claimed": ("Claimed", "info"),
    "started": ("Started", "info"),
    "completed": ("Completed", "good"),
    "failed": ("Failed", "bad"),
    "cancelled": ("Cancelled", "muted"),
    "error": ("Attempt failed", "bad"),
    "timeout": ("Timed out", "bad"),
    "crashed": ("Lost with its worker", "bad"),
    "shutdown": ("Returned by a worker that stopped", "warn"),
    "misfit": ("Returned: incompatible with the worker's release", "muted"),
    "returned": ("Returned before it started", "muted"),
    "snoozed": ("Snoozed", "warn"),
    "blocked": ("Waits for its needs", "warn"),
    "waiting": ("Waits for its children", "warn"),
    "expired": ("Expired", "warn"),
    "retried": ("Retried manually", "accent"),
    "triggered": ("Triggered manually", "accent"),
    "unparked": ("Unparked, because its key was free", "warn"),
}
# A person's action, the words for it, and the entries of its effects, which the person's entry replaces.
ACTS: Mapping[str, tuple[str, frozenset[str]]] = {
    "retry": ("retried", frozenset({"retried"})),
    "cancel": ("cancelled", frozenset({"cancelled"})),
    "trigger": ("triggered", frozenset({"triggered"})),
    "complete": ("completed", frozenset({"completed"})),
    "fail": ("failed", frozenset({"failed"})),
}
# Seconds within which an effect belongs to an act.
SOON = 2.0
ERROR = "error"
SPENT = frozenset({ERROR, "timeout", "crashed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryMoment:
    """One entry of the timeline; `since` are the seconds after the previous one, None for the first."""

    at: datetime
    words: str
    tone: str
    since: float | None
    attempt: int | None
    worker_id: int | None
    bulk_action_id: int | None
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """A failed attempt and its error."""

    attempt: int
    at: datetime
    words: str
    error: str
    worker_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """An attempt and its outcome; `ran` are the seconds since its start, None if it has not started."""

    attempt: Attempt
    words: str
    ran: float | None


def attempts_in(attempts: Sequence[Attempt], now: datetime) -> list[AttemptRow]:
    """Return the attempts, latest first."""
    return [_attempt_row(attempt, now) for attempt in reversed(attempts)]


def story_of(timeline: Sequence[TimelineEntry]) -> list[StoryMoment]:
    """Return the timeline, oldest first. Entries of people replace those of their effects."""
    acts = [entry for entry in timeline if entry.actor is not None]
    shown = [entry for entry in timeline if not any(_is_effect(entry, act) for act in acts)]
    predecessors: list[TimelineEntry | None] = [None, *shown]
    return [_moment(entry, before) for before, entry in zip(predecessors, shown, strict=False)]


def failures_in(timeline: Sequence[TimelineEntry]) -> list[FailedAttempt]:
    """Return the failed attempts, latest first."""
    return list(_failures(timeline))[::-1]


def waiting_seconds(task: TaskSummary, now: datetime) -> float | None:
    """Return the seconds from the due time to the start or now; None if the task is not due yet."""
    due = max(task.created_at, task.scheduled_for)
    until = task.started_at or task.finished_at or now
    return (until - due).total_seconds() if until >= due else None


def run_seconds(task: TaskSummary, now: datetime) -> float | None:
    """Return the run time of the last attempt until now or its end; None if it has not started."""
    if task.started_at is None:
        return None
    return max(0.0, ((task.finished_at or now) - task.started_at).total_seconds())


def _attempt_row(attempt: Attempt, now: datetime) -> AttemptRow:
    kind = attempt.outcome or ("claimed" if attempt.started_at is None else "started")
    words, _ = STORY_WORDS.get(kind, (kind.capitalize(), "muted"))
    until = attempt.ended_at or now
    ran = None if attempt.started_at is None else max(0.0, (until - attempt.started_at).total_seconds())
    return AttemptRow(attempt=attempt, words=words, ran=ran)


def _is_end_of(entry: TimelineEntry, failure: FailedAttempt) -> bool:
    return entry.attempt == failure.attempt and entry.detail == failure.error


def _is_effect(entry: TimelineEntry, act: TimelineEntry) -> bool:
    is_bare = entry.actor is None and entry.worker_id is None and entry.detail is None
    is_near = abs((act.at - entry.at).total_seconds()) <= SOON
    return is_bare and is_near and entry.kind in ACTS[act.kind][1]


def _words_of_act(entry: TimelineEntry) -> str:
    others = (entry.bulk_tasks or 1) - 1
    along = f" with {count(others)} {'other' if others == 1 else 'others'}" if others else ""
    return f"{entry.actor} {ACTS[entry.kind][0]} this{along}"


def _moment(entry: TimelineEntry, before: TimelineEntry | None) -> StoryMoment:
    words, tone = (
        (_words_of_act(entry), "accent")
        if entry.actor
        else STORY_WORDS.get(entry.kind, (entry.kind.capitalize(), "muted"))
    )
    return StoryMoment(
        at=entry.at,
        words=words,
        tone=tone,
        since=None if before is None else max(0.0, (entry.at - before.at).total_seconds()),
        attempt=entry.attempt or None,
        worker_id=entry.worker_id,
        bulk_action_id=entry.bulk_action_id,
        # The entry for the end of a task repeats the detail of its last attempt.
        detail=entry.detail if before is None or before.detail != entry.detail else None,
    )


def _failures(timeline: Sequence[TimelineEntry]) -> Iterator[FailedAttempt]:
    failure: FailedAttempt | None = None
    for entry in timeline:
        # The entry for the end of a task repeats that of its last attempt.
        if entry.kind == TaskState.FAILED and failure is not None and _is_end_of(entry, failure):
            continue
        if entry.kind in SPENT or entry.kind == TaskState.FAILED:
            words = STORY_WORDS[entry.kind][0]
            failure = FailedAttempt(
                attempt=entry.attempt or 0,
                at=entry.at,
                words="" if entry.kind == ERROR else words,
                error=entry.detail or words,
                worker_id=entry.worker_id,
            )
            yield failure


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAction:
    """A button of a task's page.

    With `asks`, its route asks for confirmation. With `needs_words`, it leads to a form.
    """

    label: str
    path: str
    icon: str
    tone: str = ""
    asks: bool = False
    needs_words: bool = False


DELETE = TaskAction(label="Delete", path="delete", icon="delete", tone="danger", asks=True)


def actions_on(task: TaskSummary) -> list[TaskAction]:
    """Return the actions that the task's state allows, the most likely first."""
    return [*_while_finished(task), *_while_open(task), DELETE]


def _while_finished(task: TaskSummary) -> list[TaskAction]:
    if task.state not in {TaskState.FAILED, TaskState.CANCELLED}:
        return []
    return [TaskAction(label="Retry", path="retry", icon="retry", tone="primary")]


def _while_open(task: TaskSummary) -> list[TaskAction]:
    if task.is_finished:
        return []
    soon = [TaskAction(label="Run now", path="trigger", icon="play", tone="primary")]
    running = [TaskAction(label="Show stack", path="stack", icon="list")]
    return [
        *(running if task.state is TaskState.RUNNING else []),
        *(soon if task.status in {"scheduled", "retrying"} else []),
        TaskAction(label="Complete…", path="complete", icon="check", needs_words=True),
        TaskAction(label="Fail…", path="fail", icon="warn", needs_words=True),
        TaskAction(label="Token…", path="token", icon="edit", needs_words=True),
        *([] if task.cancel_requested_at else [TaskAction(label="Cancel", path="cancel", icon="cancel", asks=True)]),
    ]
