"""Pieces of Markdown that the pages of the reference are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from inspect import cleandoc
from textwrap import dedent

__all__ = ["cell", "code", "heading", "prose", "slug", "table"]

# A word such as Sequence[int] or payload.{field} is no link and no tag, wherever Markdown would see one.
SPECIAL = re.compile(r"([\\*_<\[\]|])")
INDENTED = re.compile(r"((?:^    .*(?:\n|\Z)|^\n(?=    ))+)", re.MULTILINE)
QUOTED = re.compile(r"(`[^`]*`)")


def heading(level: int, words: str, anchor: str) -> str:
    """A heading with an anchor of its own, so that links to it outlive other words."""
    return f"{'#' * level} {words} {{#{anchor}}}"


def slug(name: str) -> str:
    """A name as an anchor."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-").lower()


def code(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def prose(text: str | None, language: str = "text") -> str:
    """A docstring or help text: what is indented in it is code, all else is plain words."""
    pieces = INDENTED.split(cleandoc(text or ""))
    return "\n\n".join(
        code(dedent(each), language) if each.startswith("    ") else plain(each.strip())
        for each in pieces
        if each.strip()
    )


def plain(text: str) -> str:
    """Words as they are, but for what stands in backticks."""
    return "".join(part if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in QUOTED.split(text))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty where it has no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *lines]) if lines else ""


def cell(text: str | None) -> str:
    """Words within a table, in one line."""
    return plain(" ".join((text or "").split()))
