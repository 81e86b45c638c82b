"""Describes settings of roles, handlers and schedules for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rolecall.maintenance.cron import Cron
from rolecall.model.errors import InvalidSchedule
from rolecall.web.dashboard.formats import duration, share

__all__ = [
    "attempts_in_words",
    "cron_in_words",
    "misfire_in_words",
    "outcome_in_words",
    "overlap_in_words",
    "retry_in_words",
]

MISFIRES: Mapping[str, str] = {
    "one": "the latest is run",
    "all": "each is run, the latest hundred at most",
    "skip": "none is run, unless it is less than a minute late",
}
OVERLAPS: Mapping[str, str] = {
    "queue": "the new one is enqueued beside it",
    "skip": "the new run is left out",
    "cancel": "the old one is cancelled, then the new one is enqueued",
}
OUTCOMES: Mapping[str, str] = {
    "enqueued": "its task was enqueued",
    "stood": "an open task stood for it",
    "skipped": "left out: the task of the last run was open",
    "missed": "left out: it was too late",
    "refused": "its task was refused",
}


def attempts_in_words(number: int) -> str:
    """Describe a number of attempts; 0 means unlimited."""
    return f"{number} attempts" if number > 1 else "1 attempt" if number else "without limit"


def cron_in_words(expression: str, zone: str) -> str:
    """Describe a cron expression; empty if it is invalid."""
    try:
        return f"{Cron(expression, zone).words()}, {zone}"
    except InvalidSchedule:
        return ""


def misfire_in_words(policy: str) -> str:
    """Describe a misfire policy."""
    return MISFIRES.get(policy, policy)


def overlap_in_words(policy: str) -> str:
    """Describe an overlap policy."""
    return OVERLAPS.get(policy, policy)


def outcome_in_words(outcome: str) -> str:
    """Describe the outcome of a schedule run."""
    return OUTCOMES.get(outcome, outcome)


def retry_in_words(policy: Mapping[str, Any]) -> str:
    """Describe a retry policy."""
    kind, cap = policy["kind"], float(policy.get("cap") or 0)
    jitter = float(policy.get("jitter") or 0)
    spread = f", give or take {share(jitter)}" if jitter else ""
    match kind:
        case "none":
            return "the first failure is final"
        case "linear":
            step = float(policy.get("step") or 0)
            return f"{duration(step)} more each time, at most {duration(cap)}{spread}" if step else "at once"
        case "exponential":
            first, factor = float(policy.get("first") or 0), float(policy.get("factor") or 1)
            return f"after {duration(first)}, then {factor:g} times as long, at most {duration(cap)}{spread}"
        case _:
            return str(kind)  # unknown to this release: show its name
