"""Questions that ask for confirmation before a change, and summaries of bulk actions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rolecall.model.chains import ChainSummary
from rolecall.model.operator.details import TaskDetail
from rolecall.model.operator.error_groups import ErrorGroupDetail
from rolecall.model.operator.insight import BulkAction
from rolecall.model.states import TaskState
from rolecall.service.bulk_actions import DELAY
from rolecall.web.dashboard.flash import Flash
from rolecall.web.dashboard.formats import count, duration

MOST_NAMED = 10
SELECTED = {
    "retry": "Retry {}?",
    "cancel": "Cancel {}, including everything open below?",
    "delete": "Delete {} permanently, including their chains and everything below?",
}
MEANINGS: Mapping[BulkAction, str] = {
    "retry": "Failed and cancelled tasks become pending again with all attempts; others are unchanged.",
    "cancel": "Open tasks are cancelled, including everything open below. Running tasks end when their handlers stop.",
    "delete": "Tasks are deleted permanently, with their chains and everything below. Those that open tasks need stay.",
}
WORDS: Mapping[str, Mapping[str, str]] = {
    "retry": {
        "pending": "pending again",
        "open": "already open",
        "completed": "already completed",
        "duplicate": "kept, because another task has the same dedupe key",
        "refused": "kept, because it would wait for itself",
    },
    "cancel": {"cancelled": "cancelled", "requested": "being cancelled", "finished": "already finished"},
    "delete": {
        "deleted": "deleted",
        "continued": "kept, because the chain has continued",
        "needed": "kept, because an open task needs it",
    },
}
MISSING = "no longer existed"


Confirmation = tuple[str, str, str]


def before_cancelling(detail: TaskDetail) -> Confirmation:
    """Return the question before a task is cancelled."""
    task, number = detail.task, sum(n for state, n in detail.children.numbers.items() if not state.is_finished)
    below = f", with {_number(number, 'open child', 'open children')} and everything open below" if number else ""
    stops = "It is running. It ends when its handler stops." if task.state is TaskState.RUNNING else "It will not run."
    return f"Cancel task {task.id}{below}?", "Cancel", stops


def before_deleting(detail: TaskDetail) -> Confirmation:
    """Return the question before a task is deleted."""
    number = detail.children.number
    below = f", with {_number(number, 'child', 'children')} and everything below" if number else ""
    return f"Delete task {detail.task.id} permanently{below}?", "Delete", "This cannot be undone."


def before_deleting_chain(chain: ChainSummary, *, cascade: bool) -> Confirmation:
    """Return the question before a chain is deleted, with `cascade` including what it needs."""
    needed = ", including what it needs" if cascade else ""
    tasks = _number(chain.length, "task", "tasks")
    question = f"Delete chain {chain.id} with its {tasks} and everything below{needed}?"
    return question, "Delete", "This cannot be undone."


def before_selected(action: BulkAction, ids: Collection[int], parents: Collection[int]) -> Confirmation:
    """Return the question before an action on the selected tasks; `parents` are those with children."""
    named = ", ".join(map(str, list(ids)[:MOST_NAMED]))
    more = f" and {count(len(ids) - MOST_NAMED)} more" if len(ids) > MOST_NAMED else ""
    have = f" {_number(len(parents), 'of them has', 'of them have')} children." if parents else ""
    question = SELECTED[action].format(_number(len(ids), "task", "tasks"))
    return question, action.capitalize(), f"{named}{more}.{have} {MEANINGS[action]}"


def before_retrying_group(group: ErrorGroupDetail, rate: float | None) -> Confirmation:
    """Return the question before the failed tasks of an error group are retried, all at once or at a rate."""
    tasks = _number(group.failed_tasks, "task", "tasks")
    pace = "" if rate is None else f" The last one is due in {duration(group.failed_tasks / rate)}."
    every = "" if rate is None else f", {rate:g} a second"
    meaning = (
        f"{group.handler}, {group.title}. They become pending again with all attempts, in {duration(DELAY)}.{pace}"
    )
    return f"Retry all {tasks} that failed with this error{every}?", f"Retry {tasks}", meaning


def _number(number: int, one: str, many: str) -> str:
    return f"{count(number)} {one if number == 1 else many}"


def summarize(action: BulkAction, outcomes: Mapping[str, int]) -> Flash:
    """Return a summary of a bulk action, in the tone "good" if at least one task changed."""
    total = sum(outcomes.values())
    words = WORDS[action]
    parts = [f"{count(number)} {words.get(outcome, MISSING)}" for outcome, number in outcomes.items()]
    if not parts:
        return Flash(f"{action.capitalize()}: there was nothing to do.", "info")
    changed = bool(outcomes.keys() & set(list(words)[: 2 if action == "cancel" else 1]))
    noun = "1 task" if total == 1 else f"{count(total)} tasks"
    return Flash(f"{action.capitalize()}, {noun}: {', '.join(parts)}.", "good" if changed else "info")
