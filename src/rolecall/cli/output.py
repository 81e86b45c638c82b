"""Output for people: tables, lines and trees."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from rolecall.model.outcomes import UnstoredResult

WIDE = 10_000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], nothing: str) -> None:
    """Write a table, or `nothing` if there are no rows. Cells are never truncated."""
    console().print(table_of(columns, rows, nothing))


def table_of(columns: Sequence[str], rows: Iterable[Sequence[object]], nothing: str) -> Table | Text:
    """Return the table that `print_table` writes."""
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(shown(cell), overflow="fold") for cell in row))
    return table if table.row_count else Text(nothing)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Write name and value pairs, one per line. None values are omitted."""
    grid = Table.grid(padding=(0, 2))
    for name, value in facts:
        if value is not None:
            grid.add_row(Text(name, style="bold"), Text(shown(value), overflow="fold"))
    console().print(grid)


def print_drawing(drawing: Tree) -> None:
    """Write a tree. Its labels must already be escaped by `shown`."""
    console().print(drawing)


def print_line(text: str) -> None:
    """Write one line. Control characters are escaped."""
    console().print(Text(shown(text)), soft_wrap=True)


def shown(value: object) -> str:
    """Format a value as one cell: times in UTC to the second, compact JSON, escaped control characters."""
    match value:
        case None:
            return ""
        case str():
            return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        case timedelta():
            return str(value)
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.1f}"
        case UnstoredResult(why=why):
            return shown(f"not stored: {why}")
        case dict() | list() | tuple():
            return shown(json.dumps(msgspec.to_builtins(value, enc_hook=str), ensure_ascii=False))
        case _:
            return str(value)


def console() -> Console:
    """Return a console for stdout. Its width is unlimited unless stdout is a terminal."""
    # A pipe has no width. Truncated or wrapped lines would break grep.
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
