"""Writes the call trees of enqueue, claim and finish into docs/engine.md.

One line per function: its name, its file below `sql/functions`, and the first sentence of its header. Functions that
appeared above in the same tree are listed after a `^`. Functions of `base.sql`, which everything calls, are omitted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.engine import FUNCTIONS, Engine, SqlObject
from tools.offences import ROOT

PAGE = Path("docs/engine.md")
BLOCK = re.compile(r"(<!-- tree: (\w+) -->\n```\n).*?(```\n)", re.DOTALL)
LEFT_OUT = "base.sql"
NAME_COLUMNS = 40
FILE_COLUMNS = 30
MOST_COLUMNS = 150


def write_page(root: Path) -> str:
    """Return the page with the current trees."""
    engine = Engine.read(root)
    text = (root / PAGE).read_text("utf-8")
    return BLOCK.sub(lambda block: f"{block[1]}{tree(engine, root, block[2])}{block[3]}", text)


def tree(engine: Engine, root: Path, name: str) -> str:
    """Return the functions that a function calls, recursively, in the order of their first calls."""
    return "".join(f"{line}\n" for line in branches(engine, root, engine.by_name[name], 0, set()))


def branches(engine: Engine, root: Path, sql_object: SqlObject, depth: int, seen: set[str]) -> Iterator[str]:
    seen.add(sql_object.name)
    place = sql_object.file.relative_to(root / FUNCTIONS).as_posix()
    label = "  " * depth + sql_object.name
    yield shorten(f"{label:<{NAME_COLUMNS}} {place:<{FILE_COLUMNS}} {first_sentence(sql_object)}")
    called = [
        each for each in engine.objects_called_by(sql_object) if each.kind != "view" and each.file.name != LEFT_OUT
    ]
    again = [each.name for each in called if each.name in seen]
    for each in called:
        if each.name not in seen:
            yield from branches(engine, root, each, depth + 1, seen)
    if again:
        yield "  " * (depth + 1) + f"^ {', '.join(again)}"


def first_sentence(sql_object: SqlObject) -> str:
    return re.split(r"(?<=[.:;])\s", sql_object.header.purpose, maxsplit=1)[0].rstrip(".:;")


def shorten(line: str) -> str:
    return line if len(line) <= MOST_COLUMNS else f"{line[: MOST_COLUMNS - 3]}..."


if __name__ == "__main__":
    (ROOT / PAGE).write_text(write_page(ROOT), "utf-8")
    sys.exit(0)
