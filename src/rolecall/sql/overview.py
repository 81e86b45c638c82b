"""Typed calls for the open tasks of all roles, and for the problems of the pool."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from itertools import starmap

from rolecall.model.operator.overview import RoleGauges, RoleLoad
from rolecall.model.operator.problems import Problem, ProblemKind
from rolecall.sql.statement import Statement

GAUGE_COLUMNS = ", ".join(RoleGauges.__slots__)
LOAD_COLUMNS = ", ".join(RoleLoad.__slots__)


def roles_now() -> Statement[list[RoleLoad]]:
    """Read the load and speed of each role. Cheap enough to be called often."""
    return Statement(
        query=f"select {LOAD_COLUMNS} from rolecall.roles_now()",
        read=lambda rows: list(starmap(RoleLoad, rows)),
    )


def gauges() -> Statement[list[RoleGauges]]:
    """Count the open tasks of each role by status, for external monitoring."""
    return Statement(
        query=f"select {GAUGE_COLUMNS} from rolecall.pool_gauges()",
        read=lambda rows: list(starmap(RoleGauges, rows)),
    )


def problems() -> Statement[list[Problem]]:
    """Find the problems of the pool."""
    return Statement(
        query=(
            "select kind, roles, handlers, workers, number, since,"
            " extract(epoch from rolecall.clock() - since)::float8, figures from rolecall.problems()"
        ),
        read=lambda rows: [Problem(ProblemKind(kind), *rest) for kind, *rest in rows],
    )
