"""A handler as it is stored, and those that are procedures of the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "DeclaredHandler",
    "ProcedureEnd",
    "StoredProcedure",
    "TaskContext",
]


class TaskContext:
    """What a handler is given before its payload: a Context, BatchContext or ProcessContext."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DeclaredHandler:
    """A handler as the database knows it; durations in seconds, and None is what its role says.

    `signature` is the JSON schema of its payload, None for one that declares none. `max_attempts` of 0 is no limit.
    `procedure` names what the database runs, for a SQL handler. `key` and `dedupe_key` are templates of what its tasks
    have where they are given none; within `expires` after they are due its tasks are to begin, where they say nothing
    else. `result_schema` is the JSON schema of its results, None where any will do. With `strict_keys` none of its
    tasks is claimed behind another of its key. `retained_redactions` are places of values (`payload.properties.card`)
    that an earlier declaration hid and the present one does not. They stay hidden until `rolecall handlers reveal`.
    `withdrawn` says that no live worker of its app declares it any more.
    """

    name: str
    role: str
    description: str
    signature: Mapping[str, Any] | None
    lease: float | None
    timeout: float | None
    max_attempts: int | None
    retry: Mapping[str, Any] | None
    procedure: str | None
    key: str | None = None
    dedupe_key: str | None = None
    expires: float | None = None
    result_schema: Mapping[str, Any] | None = None
    strict_keys: bool | None = None
    retained_redactions: Sequence[str] = ()
    withdrawn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProcedure:
    """A handler that some program or somebody in psql declared; `has_before`: a hook runs before it."""

    name: str
    role: str
    has_before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureEnd:
    """How a procedure's attempt ended: `lost` says why the claim was, `error` why the attempt failed."""

    lost: str | None
    error: str | None
