"""Typed calls for the load and throughput of roles and for the work in pods."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from itertools import starmap

from rolecall.model.operator.capacity import RoleCapacity
from rolecall.model.operator.scaling import PodWork
from rolecall.sql.statement import Statement, single

COLUMNS = ", ".join(RoleCapacity.__slots__)


def capacity(role: str | None = None) -> Statement[list[RoleCapacity]]:
    """Read the load and throughput of each role, or of one."""
    return Statement(
        query=f"select {COLUMNS} from rolecall.capacity(%s::text)",
        params=(role,),
        read=lambda rows: list(starmap(RoleCapacity, rows)),
    )


def due_by_hour(role: str, hours: int) -> Statement[dict[int, int]]:
    """Count the tasks that become due within each of the next hours, from 0; hours without any are omitted."""
    return Statement(
        query="select hour, number from rolecall.due_by_hour(%s::text, %s::int)",
        params=(role, hours),
        read=dict,
    )


def scale_target(role: str) -> Statement[int]:
    """Count the tasks of a role that workers could run now."""
    return Statement(query="select rolecall.scale_target(%s::text)", params=(role,), read=single)


def pods_at_work(prefix: str) -> Statement[list[PodWork]]:
    """Read the running tasks of the workers in each pod whose name has this prefix."""
    return Statement(
        query="select pod, worker_ids, running from rolecall.pods_at_work(%s::text)",
        params=(prefix,),
        read=lambda rows: list(starmap(PodWork, rows)),
    )
