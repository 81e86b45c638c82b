"""Bulk actions for people: the conditions of their filters, the link to their tasks, and their progress."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from rolecall.model.operator.bulk import StoredBulkAction
from rolecall.model.operator.insight import BulkAction
from rolecall.service.bulk_actions import DELAY
from rolecall.web.dashboard.formats import count, exact
from rolecall.web.dashboard.presenters.confirmations import MISSING, WORDS

# The sentence after the start of an action.
ANNOUNCEMENT = f"It starts in {DELAY:g} s. Until then it can be withdrawn."
PAST: Mapping[str, str] = {"retry": "retried", "cancel": "cancelled", "delete": "deleted"}
# Parameters of lists that have another name in a filter.
PARAMETERS = {"worker_id": "worker", "chain_id": "chain", "parent_id": "parent"}
LABELS = {
    "created_from": "created from",
    "created_to": "created before",
    "finished_from": "finished from",
    "finished_to": "finished before",
    "error_group": "error group",
    "text": "with the text",
}
MOST_NAMED = 10


def conditions_of(which: Mapping[str, Any]) -> str:
    """Return the conditions of a stored filter as words: `role mail, pending`."""
    return ", ".join(_condition(PARAMETERS.get(name, name), value) for name, value in which.items())


def tasks_address(which: Mapping[str, Any]) -> str:
    """Return the address of the list of tasks with a stored filter."""
    values = {PARAMETERS.get(name, name): "true" if value is True else value for name, value in which.items()}
    return f"/tasks?{urlencode(values, doseq=True)}"


def title_of(action: StoredBulkAction) -> str:
    """Return what a bulk action does: `Cancel 12,431 tasks`."""
    number = "all matching tasks" if action.total is None else number_of_tasks(action.total)
    return f"{action.action.capitalize()} {number}"


def number_of_tasks(number: int) -> str:
    """Return a number of tasks as words."""
    return f"{count(number)} {'task' if number == 1 else 'tasks'}"


def progress_of(action: StoredBulkAction) -> str:
    """Return the progress of a bulk action as words: `12,430 of 12,431 tasks`."""
    if action.total is None:
        return number_of_tasks(action.done)
    return f"{count(action.done)} of {number_of_tasks(action.total)}"


def outcomes_of(action: StoredBulkAction) -> list[tuple[str, int]]:
    """Return the outcomes of a bulk action as words, the most frequent first."""
    ordered = sorted(action.outcomes.items(), key=lambda each: -each[1])
    return [(outcome_words(action.action, outcome), number) for outcome, number in ordered]


def outcome_words(action: BulkAction, outcome: str) -> str:
    """Return the words for an outcome of an action."""
    return WORDS[action].get(outcome, MISSING)


def _condition(name: str, value: Any) -> str:
    if name == "state":
        return str(value)
    if name == "roots":
        return "only roots"
    if name == "ids":
        more = f" and {count(len(value) - MOST_NAMED)} more" if len(value) > MOST_NAMED else ""
        return f"{'task' if len(value) == 1 else 'tasks'} {', '.join(map(str, value[:MOST_NAMED]))}{more}"
    if name.endswith(("_from", "_to")):
        value = exact(datetime.fromisoformat(str(value)))
    return f"{LABELS.get(name, name)} {value}"
