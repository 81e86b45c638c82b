"""What is asked before something ends or goes: the question, which names it, and what follows from a yes."""

from __future__ import annotations

from collections.abc import Collection

from rolecall.model.chains import ChainSummary
from rolecall.model.details import TaskDetail
from rolecall.model.insight import BulkAction
from rolecall.model.states import TaskState
from rolecall.web.dashboard.formats import count
from rolecall.web.dashboard.telling.bulk import MEANINGS

__all__ = ["Asked", "before_cancelling", "before_deleting", "before_deleting_chain", "before_selected"]

Asked = tuple[str, str, str]
MOST_NAMED = 10
SELECTED = {
    "retry": "Retry {}?",
    "cancel": "Cancel {} with what is open below?",
    "delete": "Delete {} for good, each with its chain and all below it?",
}


def before_cancelling(detail: TaskDetail) -> Asked:
    """Ask before a task is cancelled."""
    task, number = detail.task, sum(n for state, n in detail.children.numbers.items() if not state.is_finished)
    below = f", with {_number(number, 'open child', 'open children')} and what is open below" if number else ""
    stops = "It runs: its handler is told to stop." if task.state is TaskState.RUNNING else "It will not run."
    return f"Cancel task {task.id}{below}?", "Cancel", stops


def before_deleting(detail: TaskDetail) -> Asked:
    """Ask before a task is deleted."""
    number = detail.children.number
    below = f", with {_number(number, 'child', 'children')} and all that is below" if number else ""
    return f"Delete task {detail.task.id} for good{below}?", "Delete", "This cannot be undone."


def before_deleting_chain(chain: ChainSummary, *, cascade: bool) -> Asked:
    """Ask before a chain is deleted, perhaps with what it needs."""
    needed = ", and what it needs" if cascade else ""
    tasks = _number(chain.length, "task", "tasks")
    question = f"Delete chain {chain.id}: its {tasks}, with everything below{needed}?"
    return question, "Delete", "This cannot be undone."


def before_selected(action: BulkAction, ids: Collection[int], parents: Collection[int]) -> Asked:
    """Ask before all tasks that are selected are dealt with; `parents` are those of them that have children."""
    named = ", ".join(map(str, list(ids)[:MOST_NAMED]))
    more = f" and {count(len(ids) - MOST_NAMED)} more" if len(ids) > MOST_NAMED else ""
    have = f" {_number(len(parents), 'of them has', 'of them have')} children." if parents else ""
    question = SELECTED[action].format(_number(len(ids), "task", "tasks"))
    return question, action.capitalize(), f"{named}{more}.{have} {MEANINGS[action]}"


def _number(number: int, one: str, several: str) -> str:
    return f"{count(number)} {one if number == 1 else several}"
