"""Chains as they are read back: the first task identifies a chain, the last one determines its status."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary


@dataclass(frozen=True, slots=True)
class ChainSummary:
    """A chain without payloads and results. The fields are also the columns that are read.

    `id`, `role`, `handler` and `created_at` are those of its first task; `state`, `status`, `error` and `finished_at`
    those of its latest task, whose id and handler are `last_id` and `last_handler`. `length` counts its tasks.
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
    """A chain with its first task's payload and its last task's result."""

    payload: dict[str, Any]
    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPart:
    """A task of a chain. If it is `large`, its payload and result were not read and are None."""

    task: TaskSummary
    payload: dict[str, Any] | None
    result: Any
    large: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainNeed:
    """A need of a chain's task; `outcome` is None while the needed task or chain is open."""

    task_id: int
    name: str | None
    needed_id: int
    chain: bool
    outcome: TaskState | None
    handler: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFilter:
    """Conditions for listing chains, newest first; None does not filter.

    `state` is `open`, or the state or status of the last task; `role` and `handler` are those of the first task.
    `before` is the id of the last chain of the previous page.
    """

    state: str | None = None
    role: str | None = None
    handler: str | None = None
    before: int | None = None
    limit: int = 50
