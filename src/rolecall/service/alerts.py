"""Turns the state of the pool into alerts: a sentence, advice, and the page to act on. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from rolecall.model.findings import Finding, Severity
from rolecall.model.history import History, HistoryPoint
from rolecall.model.insight import DeclaredRole, RegisteredWorker
from rolecall.model.overview import Alert, RoleLoad

Alerts = Iterator[Alert]
PAGES = {"stranded_work": "/admin/workers", "expired_leases": "/tasks?state=stale", "clocks": "/admin/workers"}
OF_POOL = frozenset({*PAGES, "partitions"})
LATELY = timedelta(minutes=10)
FEW = 5
RISEN = 3.0
ACCEPTED = 0.05
STALLED = timedelta(minutes=2)
NAMED = 3


def of_findings(findings: Iterable[Finding]) -> Alerts:
    """Yield alerts for the doctor's findings."""
    for found in findings:
        yield Alert(
            severity=found.severity,
            sentence=_sentence(found.problem),
            advice=_sentence(found.advice),
            path=found.path or PAGES.get(found.check),
            of_server=found.app is None and found.check not in OF_POOL,
        )


def of_pauses(roles: Iterable[DeclaredRole], loads: Iterable[RoleLoad]) -> Alerts:
    """Yield alerts for paused roles."""
    ready = {role.role: role.ready for role in loads}
    for role in roles:
        if role.paused_at is not None:
            by = f" by {role.paused_by}" if role.paused_by else ""
            waiting = ready.get(role.name, 0)
            held = f"; {_tasks(waiting)} for it" if waiting else ""
            goes_on = "It resumes automatically." if role.paused_until else "Resume it when its tasks can run again."
            sentence = f"Role {role.name} is paused{by}{held}."
            yield _warning(sentence, goes_on, "/roles")


def of_workers(workers: Iterable[RegisteredWorker]) -> Alerts:
    """Yield alerts for silent workers, and for those that back off."""
    listed = list(workers)
    if silent := [worker for worker in listed if worker.state == "silent"]:
        sentence = f"{_names_of(silent)} {_has_or_have(silent)} sent no heartbeat for five minutes."
        yield _warning(sentence, "Its tasks are rescued. Check whether its process is still running.", "/admin/workers")
    if backing := [worker for worker in listed if worker.state == "backing off"]:
        why = f": {backing[0].backing_off}" if len(backing) == 1 else ""
        advice = "Give it fewer slots or more memory, or start another worker."
        yield _warning(
            f"{_names_of(backing)} {_claims_or_claim(backing)} no new tasks for now{why}.", advice, "/admin/workers"
        )


def of_failures(history: History) -> Alerts:
    """Yield an alert if failures have increased; `history` is that of the last hour."""
    lately, before = _split(history.points, _end(history) - LATELY)
    failed, ended = _count_failed(lately), _count_finished(lately)
    rate, usual = failed / max(ended, 1), _count_failed(before) / max(_count_finished(before), 1)
    if failed >= FEW and rate > max(ACCEPTED, usual * RISEN):
        sentence = f"{failed} of the {ended} tasks that finished within the last ten minutes failed ({rate:.0%})."
        yield Alert(
            severity=Severity.TROUBLE,
            sentence=sentence,
            advice=f"Before, it was {usual:.0%}. Fix the cause of their errors, and retry them.",
            path="/tasks?state=failed",
        )


def of_history(history: History) -> Alerts:
    """Yield an alert if the history has stalled."""
    if history.until is not None and _end(history) - history.until > STALLED:
        minutes = int((_end(history) - history.until).total_seconds() // 60)
        yield _warning(
            f"Nothing was added to the history for {minutes} minutes. The plots end there.",
            "Run a worker or a server with maintenance, and check for a transaction that has been open that long.",
            None,
        )


def _end(history: History) -> datetime:
    return history.points[-1].at + timedelta(seconds=history.step_seconds)


def _split(points: Sequence[HistoryPoint], moment: datetime) -> tuple[list[HistoryPoint], list[HistoryPoint]]:
    return [point for point in points if point.at >= moment], [point for point in points if point.at < moment]


def _count_failed(points: Iterable[HistoryPoint]) -> int:
    return sum(point.failed or 0 for point in points)


def _count_finished(points: Iterable[HistoryPoint]) -> int:
    return sum((point.completed or 0) + (point.failed or 0) for point in points)


def _names_of(workers: Sequence[RegisteredWorker]) -> str:
    names = [worker.name for worker in workers[:NAMED]]
    more = len(workers) - len(names)
    listed = ", ".join(names) + (f" and {more} more" if more else "")
    return f"Worker {listed}" if len(workers) == 1 else f"Workers {listed}"


def _has_or_have(workers: Sequence[RegisteredWorker]) -> str:
    return "has" if len(workers) == 1 else "have"


def _claims_or_claim(workers: Sequence[RegisteredWorker]) -> str:
    return "claims" if len(workers) == 1 else "claim"


def _tasks(number: int) -> str:
    return "one task waits" if number == 1 else f"{number:,} tasks wait"


def _warning(sentence: str, advice: str, path: str | None) -> Alert:
    return Alert(severity=Severity.WARNING, sentence=sentence, advice=advice, path=path)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
