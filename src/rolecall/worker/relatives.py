"""Reads the results of children and needs as values of the types that their handlers declare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rolecall.app.handlers import HandlerDefinition
from rolecall.model.states import TaskState
from rolecall.model.tasks import Child, Needed


def children_of(found: Sequence[Child], of: HandlerDefinition[..., Any] | None) -> list[Child]:
    """Return the children, or only those of one handler with results of its declared type."""
    if of is None:
        return list(found)
    return [
        replace(each, result=_read_result(of, each.state, each.result)) for each in found if each.handler == of.name
    ]


def needs_of(found: Sequence[Needed], of: HandlerDefinition[..., Any] | None) -> list[Needed]:
    """Return the needs, or only those of one handler with results of its declared type."""
    if of is None:
        return list(found)
    return [
        replace(each, result=_read_result(of, each.outcome, each.result)) for each in found if each.handler == of.name
    ]


def _read_result(of: HandlerDefinition[..., Any], state: TaskState | None, stored: Any) -> Any:
    return stored if of.returns is None or state is not TaskState.COMPLETED else of.returns.read(stored)
