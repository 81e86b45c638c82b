"""Handlers as they are stored, and SQL handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class TaskContext:
    """The base of a handler's first argument: Context, BatchContext or ProcessContext."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DeclaredHandler:
    """A stored handler. Durations are in seconds; None means that the role's value applies.

    `signature` and `result_schema` are the JSON schemas of its payload and its result; None if none is declared.
    `max_attempts` of 0 means unlimited. `procedure` is the procedure of a SQL handler. `key` and `dedupe_key` are
    templates for tasks without their own, and `expires` is the default time within which a due task must start. With
    `strict_keys`, tasks are not claimed in sequences. `retained_redactions` are paths (`payload.properties.card`)
    that an earlier declaration hid and the present one does not; they stay hidden until `rolecall handlers reveal`.
    `withdrawn` is the reason why the handler is no longer declared by any live worker of its app.
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
    """A SQL handler that was declared by an app or in psql; `has_before` is true if a hook runs before it."""

    name: str
    role: str
    has_before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureResult:
    """The end of a procedure's attempt: `lost` is why the claim was lost, `error` why the attempt failed."""

    lost: str | None
    error: str | None
