"""Typed calls that look at all roles at once: what they have to do, and what is open."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from itertools import starmap

from rolecall.model.overview import RoleGauges, RoleLoad
from rolecall.sql.statement import Statement

__all__ = ["gauges", "roles_now"]

GAUGE_COLUMNS = ", ".join(RoleGauges.__slots__)
LOAD_COLUMNS = ", ".join(RoleLoad.__slots__)


def roles_now() -> Statement[list[RoleLoad]]:
    """Ask what each role has to do and how fast it is; cheap enough to be asked again and again."""
    return Statement(
        query=f"select {LOAD_COLUMNS} from rolecall.roles_now()",
        read=lambda rows: list(starmap(RoleLoad, rows)),
    )


def gauges() -> Statement[list[RoleGauges]]:
    """Ask how many tasks of each role are open, by status, for who watches from outside."""
    return Statement(
        query=f"select {GAUGE_COLUMNS} from rolecall.pool_gauges()",
        read=lambda rows: list(starmap(RoleGauges, rows)),
    )
