"""Questions that ask for confirmation before a change, and summaries of bulk actions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rolecall.model.chains import ChainSummary
from rolecall.model.details import TaskDetail
from rolecall.model.insight import BulkAction
from rolecall.model.states import TaskState
from rolecall.web.dashboard.flash import Flash
from rolecall.web.dashboard.formats import count

__all__ = [
    "MEANINGS",
    "Confirmation",
    "before_cancelling",
    "before_deleting",
    "before_deleting_chain",
    "before_selected",
    "summarize",
]

MOST_NAMED = 10
SELECTED = {
    "retry": "Retry {}?",
    "cancel": "Cancel {} with what is open below?",
    "delete": "Delete {} for good, each with its chain and all below it?",
}
MEANINGS: Mapping[BulkAction, str] = {
    "retry": "Failed and cancelled tasks go back in line under their old ids, with all attempts; others stay.",
    "cancel": "Open tasks end as cancelled, with what is open below them; what runs is summarize to stop.",
    "delete": "Tasks are forgotten for good, each with its chain and all below it; what an open task needs stays.",
}
WORDS: Mapping[str, Mapping[str, str]] = {
    "retry": {
        "pending": "back in line",
        "open": "open anyway",
        "completed": "completed, and left so",
        "duplicate": "left, as another task stands in for it",
    },
    "cancel": {"cancelled": "cancelled", "requested": "summarize to stop", "finished": "finished before"},
    "delete": {
        "deleted": "deleted",
        "continued": "left, as its chain went on",
        "needed": "left, as an open task needs it",
    },
}
MISSING = "no longer there"


Confirmation = tuple[str, str, str]


def before_cancelling(detail: TaskDetail) -> Confirmation:
    """Return the question before a task is cancelled."""
    task, number = detail.task, sum(n for state, n in detail.children.numbers.items() if not state.is_finished)
    below = f", with {_number(number, 'open child', 'open children')} and what is open below" if number else ""
    stops = "It runs: its handler is summarize to stop." if task.state is TaskState.RUNNING else "It will not run."
    return f"Cancel task {task.id}{below}?", "Cancel", stops


def before_deleting(detail: TaskDetail) -> Confirmation:
    """Return the question before a task is deleted."""
    number = detail.children.number
    below = f", with {_number(number, 'child', 'children')} and all that is below" if number else ""
    return f"Delete task {detail.task.id} for good{below}?", "Delete", "This cannot be undone."


def before_deleting_chain(chain: ChainSummary, *, cascade: bool) -> Confirmation:
    """Return the question before a chain is deleted, with `cascade` including what it needs."""
    needed = ", and what it needs" if cascade else ""
    tasks = _number(chain.length, "task", "tasks")
    question = f"Delete chain {chain.id}: its {tasks}, with everything below{needed}?"
    return question, "Delete", "This cannot be undone."


def before_selected(action: BulkAction, ids: Collection[int], parents: Collection[int]) -> Confirmation:
    """Return the question before an action on the selected tasks; `parents` are those with children."""
    named = ", ".join(map(str, list(ids)[:MOST_NAMED]))
    more = f" and {count(len(ids) - MOST_NAMED)} more" if len(ids) > MOST_NAMED else ""
    have = f" {_number(len(parents), 'of them has', 'of them have')} children." if parents else ""
    question = SELECTED[action].format(_number(len(ids), "task", "tasks"))
    return question, action.capitalize(), f"{named}{more}.{have} {MEANINGS[action]}"


def _number(number: int, one: str, many: str) -> str:
    return f"{count(number)} {one if number == 1 else many}"


def summarize(action: BulkAction, outcomes: Mapping[str, int]) -> Flash:
    """Return a summary of a bulk action, in the tone "good" if at least one task changed."""
    total = sum(outcomes.values())
    words = WORDS[action]
    parts = [f"{count(number)} {words.get(outcome, MISSING)}" for outcome, number in outcomes.items()]
    if not parts:
        return Flash(f"{action.capitalize()}: there was nothing left to do.", "info")
    changed = bool(outcomes.keys() & set(list(words)[: 2 if action == "cancel" else 1]))
    noun = "1 task" if total == 1 else f"{count(total)} tasks"
    return Flash(f"{action.capitalize()}, {noun}: {', '.join(parts)}.", "good" if changed else "info")
