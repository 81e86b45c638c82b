"""Markdown elements for the pages of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from inspect import cleandoc
from textwrap import dedent

# Words such as Sequence[int] or payload.{field} are neither links nor tags, even where Markdown would see them.
SPECIAL = re.compile(r"([\\*_<\[\]|])")
INDENTED = re.compile(r"(^    .*\n?(?:\n*^    .*\n?)*)", re.MULTILINE)
QUOTED = re.compile(r"(`[^`]*`)")


def heading(level: int, words: str, anchor: str) -> str:
    """Return a heading with an explicit anchor, so that links to it survive changes of its text."""
    return f"{'#' * level} {words} {{#{anchor}}}"


def slug(name: str) -> str:
    """Return a name as an anchor."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-").lower()


def code(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def prose(text: str | None, language: str = "text") -> str:
    """Format a docstring or help text: indented lines are code, everything else is escaped."""
    pieces = INDENTED.split(cleandoc(text or ""))
    return "\n\n".join(
        code(dedent(each), language) if each.startswith("    ") else plain(each.strip())
        for each in pieces
        if each.strip()
    )


def plain(text: str) -> str:
    """Escape a text except for the parts in backticks."""
    return "".join(part if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in QUOTED.split(text))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; empty if it has no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *lines]) if lines else ""


def cell(text: str | None) -> str:
    """Format a text for a table cell, in one line."""
    return plain(" ".join((text or "").split()))
