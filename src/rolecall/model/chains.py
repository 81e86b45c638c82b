"""A chain as it is read: its first task begins it, its last task says how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary

__all__ = ["Chain", "ChainFilter", "ChainNeed", "ChainPart", "ChainSummary"]


@dataclass(frozen=True, slots=True)
class ChainSummary:
    """One chain, without what can be megabytes; what is read are the columns of its fields.

    `id`, `role`, `handler` and `created_at` are its first task's; `state`, `status`, `error` and `finished_at` are
    those of its last task so far, `last_id` and `last_handler`. `length` counts its tasks.
    """

    id: int
    role: str
    handler: str
    state: TaskState
    status: str
    open: bool
    length: int
    last_id: int
    last_handler: str
    error: str | None
    created_at: datetime
    finished_at: datetime | None
    origin_id: int | None
    parent_id: int | None


@dataclass(frozen=True, slots=True)
class Chain(ChainSummary):
    """One chain: the summary, its first task's payload and its last one's result."""

    payload: dict[str, Any]
    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPart:
    """A task of a chain; payload and result are None where they are `large`, too large to be read on the way."""

    task: TaskSummary
    payload: dict[str, Any] | None
    result: Any
    large: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainNeed:
    """What a task of a chain needs; `outcome` is None while that is open."""

    task_id: int
    name: str | None
    needed_id: int
    chain: bool
    outcome: TaskState | None
    handler: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFilter:
    """Which chains to list, newest first; None does not filter.

    `state` is `open`, or a state or finer status of the last task; role and handler are the first task's. `before`
    pages on from an id.
    """

    state: str | None = None
    role: str | None = None
    handler: str | None = None
    before: int | None = None
    limit: int = 50
