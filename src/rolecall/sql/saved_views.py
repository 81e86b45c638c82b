"""Typed calls for saved views: list, save, change and delete them."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from itertools import starmap

from rolecall.model.operator.saved_views import SavedView
from rolecall.sql.statement import Statement, single

COLUMNS = ", ".join(SavedView.__slots__)


def list_() -> Statement[list[SavedView]]:
    """List the saved views by name."""
    return Statement(
        query=f"select {COLUMNS} from rolecall.saved_views order by name",
        read=lambda rows: list(starmap(SavedView, rows)),
    )


def save(name: str, query: str, by: str, most: int) -> Statement[int | None]:
    """Save a query; returns its id, None if the name is taken or there are `most` saved views."""
    return Statement(
        query="select rolecall.save_view(%s::text, %s::text, %s::text, %s::int)",
        params=(name, query, by, most),
        read=single,
    )


def change(view_id: int, name: str | None, query: str | None) -> Statement[bool | None]:
    """Change a saved view; returns False if the name is taken, None if there is no such view."""
    return Statement(
        query="select rolecall.change_view(%s::bigint, %s::text, %s::text)",
        params=(view_id, name, query),
        read=single,
    )


def delete(view_id: int) -> Statement[bool]:
    """Delete a saved view; returns whether it existed."""
    return Statement(query="select rolecall.delete_view(%s::bigint)", params=(view_id,), read=single)
