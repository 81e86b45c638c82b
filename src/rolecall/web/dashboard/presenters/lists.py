"""Pages of lists that are read completely, and the state tabs above a list of tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import Query

from rolecall.model.operator.insight import RoleCount

T = TypeVar("T")
ORDER = ("pending", "running", "waiting", "blocked", "completed", "failed", "cancelled")
DERIVED = {"pending": ("ready", "scheduled", "retrying", "parked"), "running": ("claimed", "stale", "hanging")}
FAMILY = {finer: state for state, states in DERIVED.items() for finer in (state, *states)}


PageNumber = Annotated[int, Query(ge=1, le=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage(Generic[T]):
    """One page of a list. Pages are numbered from 1."""

    items: Sequence[T]
    number: int
    size: int
    pages: int
    total: int


def page_of(items: Sequence[T], number: int, size: int) -> ListPage[T]:
    """Return a page of the list, or the last one if there are fewer."""
    pages = max(1, -(-len(items) // size))
    number = min(number, pages)
    shown = items[(number - 1) * size : number * size]
    return ListPage(items=shown, number=number, size=size, pages=pages, total=len(items))


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTab:
    """One tab: its state (None: all states) and its number of tasks, if counted."""

    label: str
    state: str | None
    number: int | None
    is_current: bool


def state_tabs(counts: Iterable[RoleCount], roles: Collection[str], current: str | None) -> list[StateTab]:
    """Return a tab for each stored state, with the number of tasks of the roles (none: of all). Derived states select
    their stored one.
    """
    numbers: Counter[str] = Counter()
    for each in counts:
        if not roles or each.role in roles:
            numbers[each.state] += each.number
    shown = FAMILY.get(current or "", current)
    every = StateTab(label="all", state=None, number=numbers.total(), is_current=current is None)
    stored = [StateTab(label=state, state=state, number=numbers[state], is_current=state == shown) for state in ORDER]
    return [every, *stored]


def derived_tabs(current: str | None) -> list[StateTab]:
    """Return tabs for the derived states of the current state, without numbers."""
    family = FAMILY.get(current or "")
    if family is None:
        return []
    whole = StateTab(label=f"all {family}", state=family, number=None, is_current=current == family)
    finer = [StateTab(label=name, state=name, number=None, is_current=name == current) for name in DERIVED[family]]
    return [whole, *finer]
