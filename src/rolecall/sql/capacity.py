"""Typed calls about capacity: what roles have to do, what their workers manage, what becomes due when."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from itertools import starmap

from rolecall.model.capacity import RoleCapacity
from rolecall.sql.statement import Statement, by_first_column

__all__ = ["capacity", "due_by_hour"]

COLUMNS = ", ".join(RoleCapacity.__slots__)


def capacity(role: str | None = None) -> Statement[list[RoleCapacity]]:
    """Ask what each role, or one, has to do and what its workers manage."""
    return Statement(
        query=f"select {COLUMNS} from rolecall.capacity(%s::text)",
        params=(role,),
        read=lambda rows: list(starmap(RoleCapacity, rows)),
    )


def due_by_hour(role: str, hours: int) -> Statement[dict[int, int]]:
    """Count what becomes due within each of the next hours, from 0; an hour without any is left out."""
    return Statement(
        query="select hour, number from rolecall.due_by_hour(%s::text, %s::int)",
        params=(role, hours),
        read=by_first_column,
    )
