"""What actions on many tasks are called, what they do, and what came of them, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from rolecall.web.dashboard.said import Said

from rolecall.model.insight import BulkAction
from rolecall.web.dashboard.formats import count

__all__ = ["MEANINGS", "told"]

MEANINGS: Mapping[BulkAction, str] = {
    "retry": "Failed and cancelled tasks go back in line under their old ids, with all attempts; others stay.",
    "cancel": "Open tasks end as cancelled, with what is open below them; what runs is told to stop.",
    "delete": "Tasks are forgotten for good, each with its chain and all below it; what an open task needs stays.",
}
WORDS: Mapping[str, Mapping[str, str]] = {
    "retry": {
        "pending": "back in line",
        "open": "open anyway",
        "completed": "completed, and left so",
        "duplicate": "left, as another task stands in for it",
    },
    "cancel": {"cancelled": "cancelled", "requested": "told to stop", "finished": "finished before"},
    "delete": {
        "deleted": "deleted",
        "continued": "left, as its chain went on",
        "needed": "left, as an open task needs it",
    },
}
MISSING = "no longer there"


def told(action: BulkAction, outcomes: Mapping[str, int]) -> Said:
    """Say what became of how many; good news where at least one was changed."""
    total = sum(outcomes.values())
    words = WORDS[action]
    parts = [f"{count(number)} {words.get(outcome, MISSING)}" for outcome, number in outcomes.items()]
    if not parts:
        return Said(f"{action.capitalize()}: there was nothing left to do.", "info")
    changed = bool(outcomes.keys() & set(list(words)[: 2 if action == "cancel" else 1]))
    noun = "1 task" if total == 1 else f"{count(total)} tasks"
    return Said(f"{action.capitalize()}, {noun}: {', '.join(parts)}.", "good" if changed else "info")
