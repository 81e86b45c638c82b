"""Suggestions for the search field of tasks, and the places to which the palette leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from rolecall.model.operator.insight import FoundName, NameKind, TaskFilter
from rolecall.model.operator.saved_views import SavedView
from rolecall.model.operator.task_query import write_query
from rolecall.service.arguments import STATUSES
from rolecall.web.dashboard.navigation import NavigationEntry

CONDITIONS = {
    "role:": "one or more roles: role:mail,push",
    "handler:": "one or more handlers: handler:charge,refund",
    "state:": "a state or status: failed, hanging",
    "key:": "a key",
    "error~": "text in the error: error~429",
    "error:": "the id of an error",
    "payload.": "a field of the payload: payload.store:58",
    "age>": "created longer ago: age>1h",
    "age<": "created more recently: age<15m",
    "created>": "created at this time or later, in UTC: created>2026-01-31",
    "created<": "created before this time, in UTC",
    "finished>": "finished at this time or later, in UTC",
    "finished<": "finished before this time, in UTC",
    "worker:": "the id of the worker that runs it or ran it last",
    "chain:": "the id of its chain",
    "parent:": "the id of its parent",
    "id:": "one or more ids: id:25,26",
    "is:root": "no child of another task",
}
NAMED: Sequence[NameKind] = ("role", "handler", "key", "worker")
PLACES: Sequence[NameKind] = ("role", "handler", "schedule", "worker")
MOST_VIEWS = 8
MOST_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A text, an explanation, and the page that it leads to. A condition leads to none."""

    text: str
    help: str
    href: str = ""


def kinds_for(word: str) -> tuple[Sequence[NameKind], str]:
    """Return the kinds of names to suggest for a word of a query, and the text that the names contain."""
    kinds = [kind for kind in NAMED if word.startswith(f"{kind}:")]
    if kinds:
        return kinds, word.partition(":")[2].rpartition(",")[2].lstrip('"')
    return (("role", "handler") if word.isidentifier() else ()), word


def complete(word: str, names: Iterable[FoundName]) -> Iterator[Suggestion]:
    """Return the conditions and values that complete a word of a query."""
    fitting = (each for each in CONDITIONS.items() if each[0].startswith(word) and each[0] != word)
    yield from (Suggestion(text=text, help=about) for text, about in fitting)
    if word.startswith("state:"):
        begun = word.removeprefix("state:")
        yield from (Suggestion(text=f"state:{each}", help="state") for each in STATUSES if each.startswith(begun))
    earlier = word.partition(":")[2].rpartition(",")
    for name in names:
        yield Suggestion(text=_condition(name, earlier[0] + earlier[1]), help=_about(name))


def _condition(name: FoundName, earlier: str) -> str:
    match name.kind:
        case "role" | "handler":
            return f"{name.kind}:{earlier}{name.name}"
        case "worker":
            return f"worker:{name.id}"
        case _:
            return write_query(TaskFilter(key=name.name))


def _about(name: FoundName) -> str:
    return f"worker {name.name}" if name.kind == "worker" else name.kind


def places(
    text: str, entries: Iterable[NavigationEntry], views: Iterable[SavedView], names: Iterable[FoundName]
) -> Iterator[Suggestion]:
    """Return the pages and things whose names contain a text, the task with this id, and the search for the text."""
    if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS:
        yield Suggestion(text=f"Task {text}", help="task", href=f"/tasks/{text}")
    for entry in entries:
        yield from _pages(entry, text.lower())
    found = [view for view in views if text.lower() in view.name.lower()]
    yield from (Suggestion(text=view.name, help="saved view", href=view_path(view)) for view in found[:MOST_VIEWS])
    yield from (Suggestion(text=name.name, help=name.kind, href=_path(name)) for name in names)
    if text:
        yield Suggestion(text=text, help="search tasks", href=f"/tasks?{urlencode({'q': text})}")


def view_path(view: SavedView) -> str:
    """Return the path of the list of tasks that a saved view finds."""
    return f"/tasks?{urlencode({'q': view.query})}"


def _pages(entry: NavigationEntry, text: str) -> Iterator[Suggestion]:
    if text in entry.label.lower():
        yield Suggestion(text=entry.label, help="page", href=entry.path)
    for part in entry.parts:
        if part.label and text in part.label.lower():
            yield Suggestion(text=part.label, help=f"page of {entry.label}", href=part.path)


def _path(name: FoundName) -> str:
    match name.kind:
        case "schedule":
            return f"/schedules/{name.id}"
        case "worker":
            return f"/admin/workers/{name.id}"
        case _:
            return f"/{name.kind}s/{quote(name.name, safe='')}"
