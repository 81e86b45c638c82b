"""Handlers that are procedures of the database, as a worker knows them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ProcedureEnd", "StoredProcedure"]


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
