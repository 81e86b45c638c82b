"""Typed calls about capacity: what roles have to do, what their workers manage, which pods work."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from itertools import starmap

from rolecall.model.capacity import RoleCapacity
from rolecall.model.scaling import PodWork
from rolecall.sql.statement import Statement, single

__all__ = [
    "capacity",
    "due_by_hour",
    "pods_at_work",
    "scale_target",
]

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
        read=dict,
    )


def scale_target(role: str) -> Statement[int]:
    """Ask how many tasks of a role workers could be running now."""
    return Statement(query="select rolecall.scale_target(%s::text)", params=(role,), read=single)


def pods_at_work(prefix: str) -> Statement[list[PodWork]]:
    """Ask what the workers run in each pod whose name begins like this."""
    return Statement(
        query="select pod, worker_ids, running from rolecall.pods_at_work(%s::text)",
        params=(prefix,),
        read=lambda rows: list(starmap(PodWork, rows)),
    )
