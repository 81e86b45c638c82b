"""Each problem is one sentence, with pages to see its tasks and to act on them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rolecall.model.findings import Severity
from rolecall.model.operator.problems import Problem, ProblemKind
from rolecall.service import alerts

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
ROLES = [f"role-{number}" for number in range(15)]
WINDOW: dict[str, Any] = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:10:00Z"}


def problem(kind: str, number: int, *roles: str, workers: list[int] | None = None, **figures: Any) -> Problem:
    return Problem(ProblemKind(kind), roles, roles, workers or [], number, SINCE, 1_260.0, figures)


@pytest.mark.parametrize(
    ("given", "sentence", "path"),
    [
        (
            problem("no_worker", 30, *ROLES, active_workers=3),
            "No worker serves 15 roles (role-0, role-1, role-2 and 12 more); 30 tasks wait.",
            f"/tasks?state=ready&role={','.join(ROLES)}",
        ),
        (
            problem("no_handler", 1, "mail", active_workers=3),
            "No active worker of role mail has the handler mail; 1 task waits.",
            "/tasks?state=ready&role=mail&handler=mail",
        ),
        (
            problem("hanging", 8, "sync", usual_seconds=0.3, stuck_workers=1, due=2_000),
            (
                "8 tasks of role sync have been running for up to 21 min; usually such a task takes 0.3 s."
                " 1 worker runs nothing else. 2,000 tasks wait behind them."
            ),
            "/tasks?state=hanging",
        ),
        (
            problem("failing", 12, "mail", ended=12, error="KeyError", usual_share=0.01, **WINDOW),
            "12 of 12 tasks of role mail that ended within ten minutes failed, most often with KeyError.",
            (
                "/tasks?state=failed&role=mail&handler=mail"
                "&finished_from=2026-01-01T00:00:00Z&finished_to=2026-01-01T00:10:00Z"
            ),
        ),
        (
            problem("dead_workers", 2, workers=[3, 4], names=["a", "b"]),
            "Workers a, b died: their processes ended without deregistering.",
            "/admin/workers?ids=3&ids=4",
        ),
        (
            problem("silent_workers", 1, workers=[3], names=["a"]),
            "Worker a has sent no heartbeat for a minute.",
            "/admin/workers?ids=3",
        ),
        (
            problem("growing", 165, "work", before=20),
            "The backlog of role work has grown from 20 to 165 tasks within 21 min.",
            "/tasks?state=ready&role=work",
        ),
        (
            problem("waiting", 165, "work", usual_seconds=3, is_standstill=False),
            "165 tasks of role work wait, the oldest for 21 min; usually it takes 3 s or less.",
            "/tasks?state=ready&role=work",
        ),
        (
            problem("paused", 3, "work", by="ada", until=None),
            "Role work is paused by ada; 3 tasks wait.",
            "/tasks?state=ready&role=work",
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Problem) else "",
)
def test_problem_is_a_sentence_with_a_link(given: Problem, sentence: str, path: str) -> None:
    [alert] = alerts.of_problems([given])

    assert (alert.sentence, alert.path) == (sentence, path)
    assert (alert.kind, alert.count, alert.since) == (given.kind, given.number, SINCE)


def test_every_kind_has_a_sentence() -> None:
    assert alerts.WRITERS.keys() == set(ProblemKind)


def test_worst_problem_comes_first_and_no_kind_hides_the_others() -> None:
    failing = [
        problem("failing", number, "mail", ended=9, error=error, usual_share=0, **WINDOW)
        for number, error in ((5, "KeyError"), (8, "ValueError"))
    ]
    paused = problem("paused", 3, "work", by=None, until=None)
    hanging = problem("hanging", 2, "sync", usual_seconds=1, stuck_workers=0, due=0)

    found = alerts.of_problems([paused, *failing, hanging])

    assert [(alert.kind, alert.count) for alert in found] == [
        ("hanging", 2),
        ("failing", 8),
        ("failing", 5),
        ("paused", 3),
    ]


def test_hanging_tasks_can_be_cancelled_and_failed_ones_retried() -> None:
    hanging = problem("hanging", 2, "sync", usual_seconds=1, stuck_workers=0, due=0)
    failing = problem("failing", 5, "mail", ended=9, error=None, usual_share=0, **WINDOW)

    actions = [alert.action for alert in alerts.of_problems([hanging, failing])]

    assert [action and action.path.partition("&role")[0] for action in actions] == [
        "/tasks/bulk?action=cancel&state=hanging",
        "/tasks/bulk?action=retry&state=failed",
    ]


def test_standstill_is_trouble() -> None:
    waiting = problem("waiting", 5, "work", usual_seconds=None, is_standstill=True)

    [alert] = alerts.of_problems([waiting])

    assert alert.severity is Severity.TROUBLE
    assert "None of them is running, and none has ended for a minute." in alert.sentence
