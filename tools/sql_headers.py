"""Holds the engine's SQL to the house: a header that answers four questions, one object a file, one clock.

A function that keeps the planner from a kind of plan must also keep it from compiling: before Postgres 18 such a plan,
where there is no other, costs 1e10, and whatever is that costly is compiled at each call, for a tenth of a second.

A function must set its search path. A procedure that commits may carry no SET clause, and a function that has
one is not inlined: where that matters, the header says `-- search_path: why it is not set`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.offences import ROOT, Offence, project_files, report

ENGINE = Path("src/rolecall/sql")
CLOCK = ENGINE / "functions" / "internal" / "clock.sql"
ANSWERS = ("returns", "raises", "locks", "notifies")
OBJECT = re.compile(r"create\s+(or\s+replace\s+)?(function|procedure|view)\s+(?:\w+\.)?(\w+)", re.IGNORECASE)
OTHER_CLOCKS = re.compile(r"\bnow\s*\(|\b(current_timestamp|localtimestamp|current_date)\b", re.IGNORECASE)
SEARCH_PATH = re.compile(r"set\s+search_path\s*(=|to)\s*''", re.IGNORECASE)
EXCUSED = re.compile(r"^-- search_path: \S", re.MULTILINE)
STEERS = re.compile(r"^set\s+enable_\w+\s*(=|to)\s*off", re.IGNORECASE | re.MULTILINE)
NEVER_COMPILED = re.compile(r"^set\s+jit\s*(=|to)\s*off", re.IGNORECASE | re.MULTILINE)
COMMITS = re.compile(r"^\s*(commit|rollback)\s*;", re.IGNORECASE | re.MULTILINE)
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def offences(root: Path) -> Iterator[Offence]:
    """Look at every SQL file of the engine."""
    for file in project_files(root, ".sql"):
        place = file.relative_to(root)
        if not place.is_relative_to(ENGINE):
            continue
        text = file.read_text()
        if place != CLOCK:
            yield from clock_offences(file, text)
        if "functions" in place.parts:
            yield from header_offences(file, text)
            yield from object_offences(file, text)


def without_comments(text: str) -> str:
    """The same lines with the comments blanked, so that positions stay true."""
    return COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


def clock_offences(file: Path, text: str) -> Iterator[Offence]:
    code = without_comments(text)
    for found in OTHER_CLOCKS.finditer(code):
        wrong = f"{found[0].strip('( ')} is not rolecall.clock(), the one clock, which tests can set"
        yield Offence(file, line_of(code, found.start()), wrong)


def header_offences(file: Path, text: str) -> Iterator[Offence]:
    header = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        header.append(line.removeprefix("--").strip())
    if not header or header[0].startswith(tuple(f"{word}:" for word in ANSWERS)):
        yield Offence(file, 1, "the header must begin with one sentence that says what it does")
    for word in ANSWERS:
        if not any(line.startswith(f"{word}:") and line != f"{word}:" for line in header):
            yield Offence(file, 1, f"the header lacks its line `-- {word}: ...` (perhaps `nothing`)")


def object_offences(file: Path, text: str) -> Iterator[Offence]:
    code = without_comments(text)
    made = list(OBJECT.finditer(code))
    if len(made) != 1:
        yield Offence(file, 1, f"a file makes one function, procedure or view; this one makes {len(made)}")
        return
    replaces, kind, name = made[0].groups()
    line = line_of(code, made[0].start())
    if not replaces:
        yield Offence(file, line, f"say `create or replace {kind.lower()}`: the file is applied again and again")
    if name != file.stem:
        yield Offence(file, line, f"the file makes {name}, so its name must be {name}.sql")
    excused = kind.lower() == "view" or EXCUSED.search(text) or COMMITS.search(code)
    if not (excused or SEARCH_PATH.search(code)):
        yield Offence(file, line, f"{kind.lower()} {name} lacks `set search_path = ''`")
    if STEERS.search(code) and not NEVER_COMPILED.search(code):
        yield Offence(file, line, f"{kind.lower()} {name} sets enable_* = off, so it needs `set jit = off` beside it")


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


if __name__ == "__main__":
    sys.exit(report(offences(ROOT), ROOT))
