"""How results are shown to people: tables, lines and trees."""

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
    """Write a table, or the sentence `nothing` where there are no rows; cells are never cut."""
    console().print(table_of(columns, rows, nothing))


def table_of(columns: Sequence[str], rows: Iterable[Sequence[object]], nothing: str) -> Table | Text:
    """Make the same table, to be drawn."""
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(shown(cell), overflow="fold") for cell in row))
    return table if table.row_count else Text(nothing)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Write name and value pairs, one a line, leaving out what is empty."""
    grid = Table.grid(padding=(0, 2))
    for name, value in facts:
        if value is not None:
            grid.add_row(Text(name, style="bold"), Text(shown(value), overflow="fold"))
    console().print(grid)


def print_drawing(drawing: Tree) -> None:
    """Write a tree of labels; they must be shown text already."""
    console().print(drawing)


def print_line(text: str) -> None:
    """Write one line."""
    console().print(Text(shown(text)), soft_wrap=True)


def shown(value: object) -> str:
    """One cell: times in UTC to the second, JSON compact, control characters made visible."""
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
    """Return what draws on stdout, at any width where that is no terminal."""
    # A pipe has no width: cutting or wrapping there would lose what the reader's grep looks for.
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
