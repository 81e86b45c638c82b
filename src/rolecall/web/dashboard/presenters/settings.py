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
    "one": "run the latest",
    "all": "run each, at most the latest hundred",
    "skip": "run none, unless it is less than a minute late",
}
OVERLAPS: Mapping[str, str] = {
    "queue": "enqueue the new one as well",
    "skip": "skip the new run",
    "cancel": "cancel the old one, then enqueue the new one",
}
OUTCOMES: Mapping[str, str] = {
    "enqueued": "its task was enqueued",
    "stood": "an open task existed already",
    "skipped": "skipped: the task of the last run was open",
    "missed": "missed: it was too late",
    "refused": "its task was rejected",
}


def attempts_in_words(number: int) -> str:
    """Describe a number of attempts; 0 means unlimited."""
    return f"{number} attempts" if number > 1 else "1 attempt" if number else "unlimited"


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
    spread = f", jitter {share(jitter)}" if jitter else ""
    match kind:
        case "none":
            return "no retries"
        case "linear":
            step = float(policy.get("step") or 0)
            return f"+{duration(step)} each time, max. {duration(cap)}{spread}" if step else "immediately"
        case "exponential":
            first, factor = float(policy.get("first") or 0), float(policy.get("factor") or 1)
            return f"{duration(first)}, ×{factor:g}, max. {duration(cap)}{spread}"
        case _:
            return str(kind)  # unknown to this release: show its name
