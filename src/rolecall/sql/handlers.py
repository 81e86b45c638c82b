"""Typed calls about handlers."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from rolecall.model.handlers import DeclaredHandler
from rolecall.sql.conditions import where
from rolecall.sql.statement import Row, Statement, from_json

__all__ = ["list_"]

COLUMNS = (
    "name, role, description, signature::text, extract(epoch from lease)::float8, extract(epoch from timeout)::float8, "
    "max_attempts, retry::text, procedure"
)


def list_(name: str | None = None) -> Statement[list[DeclaredHandler]]:
    """List the handlers by role and name, or find one."""
    filters, params = where(("name = %s::text", name))
    return Statement(
        query=f"select {COLUMNS} from rolecall.handlers where {filters} order by role, name",
        params=params,
        read=lambda rows: list(map(_read, rows)),
    )


def _read(row: Row) -> DeclaredHandler:
    name, role, description, signature, lease, timeout, max_attempts, retry, procedure = row
    return DeclaredHandler(
        name, role, description, from_json(signature), lease, timeout, max_attempts, from_json(retry), procedure
    )
