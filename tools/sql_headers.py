"""Checks the engine's SQL: headers, the layout of the files, and the use of one clock.

A header begins with a description, followed by `-- returns:`, `-- raises:`, `-- locks:` and `-- notifies:` where they
apply. A header includes what the called functions raise (unless the error is caught), lock and notify. `as X` refers
to the header of X; `nothing of X` states that this call of X cannot raise the remaining errors. `-- public: yes`
marks functions for callers outside of the engine.

Each file has one subject. It is named after its first object, or has a name that no object has. An internal function
is in the file that calls it; functions that several files call are in a file with only such functions.

Lines have at most 110 columns. Code is ASCII, because a database may have any encoding. Strings with backslashes have
the form e'...' or $re$...$re$: the meaning of '...' depends on the setting standard_conforming_strings.

A function that disables a kind of plan must also disable JIT: before Postgres 18, a disabled plan without an
alternative costs 1e10, so each call would be compiled, which takes a tenth of a second.

A function does not set what all of its callers set already: each SET clause makes a call slower.

Every function sets `search_path = pg_catalog, pg_temp`. With any other path, Postgres looks for types in the caller's
`pg_temp` first, so that a caller could run their own code with the owner's rights. A procedure that commits cannot
have a SET clause, and a function with a SET clause is not inlined. Where that matters, the header says
`-- search_path: why it is not set`, and no role may execute the function.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.engine import CREATE, MIGRATIONS, SQL, Engine, SqlObject, line_of, without_comments
from tools.offences import ROOT, Offence, project_files, report

MOST_COLUMNS = 110
CLOCK = "clock"
OTHER_CLOCKS = re.compile(r"\bnow\s*\(|\b(current_timestamp|localtimestamp|current_date)\b", re.IGNORECASE)
SEARCH_PATH = re.compile(r"^set search_path = pg_catalog, pg_temp$", re.MULTILINE)
NO_JIT = ("jit", "off")
COMMITS = re.compile(r"^\s*(commit|rollback)\s*;", re.IGNORECASE | re.MULTILINE)
CATCHES_ALL = re.compile(r"\bwhen\s+others\b", re.IGNORECASE)
CAUGHT = re.compile(r"sqlstate\s+'(\w{5})'", re.IGNORECASE)
RAISED = re.compile(r"'(RC\d{3})'")
CODE = re.compile(r"\bRC\d{3}\b")
STRING = re.compile(r"(?<!\w)(e?)'((?:[^']|'')*)'|\$(\w+)\$(?:(?!\$\w*\$).)*\$\3\$", re.IGNORECASE | re.DOTALL)
SAME_AS = re.compile(r"\bas `?(\w+)`?")
NOTHING_OF = re.compile(r"\bnothing of `?(\w+)`?")


def offences(root: Path) -> Iterator[Offence]:
    """Check every SQL file of the engine."""
    for file in project_files(root, ".sql"):
        place = file.relative_to(root)
        if not place.is_relative_to(SQL):
            continue
        text = file.read_text()
        yield from clock_offences(file, text)
        if not place.is_relative_to(MIGRATIONS):
            yield from width_offences(file, text)
            yield from text_offences(file, text)
    engine = Engine.read(root)
    for sql_object in engine.objects:
        for wrong in (
            *header_faults(sql_object),
            *object_faults(sql_object),
            *setting_faults(engine, sql_object),
            *place_faults(engine, sql_object),
            *call_faults(engine, sql_object),
        ):
            yield Offence(sql_object.file, sql_object.line, f"{sql_object.kind} {sql_object.name} {wrong}")


def clock_offences(file: Path, text: str) -> Iterator[Offence]:
    code = without_comments(text)
    for found in OTHER_CLOCKS.finditer(code):
        above = [match[3] for match in CREATE.finditer(code, 0, found.start())]
        if above[-1:] == [CLOCK]:
            continue
        wrong = f"{found[0].strip('( ')} must be rolecall.clock(), which tests can set"
        yield Offence(file, line_of(code, found.start()), wrong)


def width_offences(file: Path, text: str) -> Iterator[Offence]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MOST_COLUMNS:
            yield Offence(file, number, f"the line has {len(line)} columns, more than {MOST_COLUMNS}")


def text_offences(file: Path, text: str) -> Iterator[Offence]:
    code = without_comments(text)
    for found in re.finditer(r"[^\x00-\x7f]+", code):
        yield Offence(file, line_of(code, found.start()), f"{found[0]} does not exist in every encoding")
    for found in STRING.finditer(code):
        if "\\" in (found[2] or "") and not found[1]:
            wrong = f"{found[0]} must be e'...' or $re$...$re$, because it has a backslash"
            yield Offence(file, line_of(code, found.start()), wrong)


def header_faults(sql_object: SqlObject) -> Iterator[str]:
    if not sql_object.header.purpose:
        yield "lacks a header that begins with a description"
    for word, answer in sql_object.header.answers.items():
        if answer in {"", "nothing"}:
            yield f"has a line `-- {word}:` without content: remove it"


def object_faults(sql_object: SqlObject) -> Iterator[str]:
    if not sql_object.replaces:
        yield f"must use `create or replace {sql_object.kind}`, because the file is applied repeatedly"
    excused = sql_object.kind == "view" or "search_path" in sql_object.header.answers or COMMITS.search(sql_object.code)
    if not (excused or SEARCH_PATH.search(sql_object.code)):
        yield "lacks `set search_path = pg_catalog, pg_temp`"


def setting_faults(engine: Engine, sql_object: SqlObject) -> Iterator[str]:
    inherited = engine.inherited_settings[sql_object.name]
    if (
        any(name.startswith("enable_") for name, _ in sql_object.settings)
        and NO_JIT not in sql_object.settings | inherited
    ):
        yield "sets enable_* = off, so it needs `set jit = off` too"
    for name, value in sorted(sql_object.settings & inherited):
        yield f"sets {name} = {value}, as every caller does: remove the clause, which makes each call slower"


def place_faults(engine: Engine, sql_object: SqlObject) -> Iterator[str]:
    stem = sql_object.file.stem
    if sql_object.is_first and stem != sql_object.name and stem in engine.by_name:
        yield f"is the first in {sql_object.file.name}, which has the name of another object"
    if engine.is_for_others(sql_object):
        return
    callers = engine.files_that_call(sql_object)
    if not callers:
        yield "has no callers"
    elif sql_object.file not in callers and len(callers) == 1 and not engine.is_shared(sql_object.file):
        yield f"is called from {min(callers).name} only: move it there"


def call_faults(engine: Engine, sql_object: SqlObject) -> Iterator[str]:
    called_objects = engine.objects_called_by(sql_object)
    caught = set(CAUGHT.findall(sql_object.code))
    raised = set(RAISED.findall(sql_object.code))
    if not CATCHES_ALL.search(sql_object.code):
        excused = NOTHING_OF.findall(sql_object.header.answers.get("raises", ""))
        raised |= {code for other in called_objects if other.name not in excused for code in codes(engine, other)}
    if missing := sorted(raised - caught - codes(engine, sql_object)):
        yield f"may raise {', '.join(missing)}, which its header does not list"
    for word in ("locks", "notifies"):
        sources = [other.name for other in called_objects if word in other.header.answers]
        if sources and word not in sql_object.header.answers:
            yield f"lacks `{word}`, which its callee {', '.join(sources)} has"


def codes(engine: Engine, sql_object: SqlObject, *visited: str) -> set[str]:
    """Return the error codes that a header names, directly or with `as X`."""
    raises = sql_object.header.answers.get("raises", "")
    others = [name for name in SAME_AS.findall(raises) if name in engine.by_name and name not in visited]
    return set(CODE.findall(raises)).union(
        *(codes(engine, engine.by_name[name], sql_object.name, *visited) for name in others)
    )


if __name__ == "__main__":
    sys.exit(report(offences(ROOT), ROOT))
