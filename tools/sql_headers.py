"""Checks the engine's SQL: headers, the layout of the files, and the use of one clock.

A header begins with a description, followed by `-- returns:`, `-- raises:`, `-- locks:` and `-- notifies:` where they
apply. A header includes what the called functions raise (unless the error is caught), lock and notify. `as X` refers
to the header of X; `nothing of X` states that this call of X cannot raise the remaining errors. `-- public: yes`
marks functions for callers outside of the engine.

Each file has one subject. It is named after its first object, or has a name that no object has. An internal function
is in the file that calls it; functions that several files call are in a file with only such functions.

Lines have at most 110 columns.

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

from tools.engine import CREATE, MIGRATIONS, SQL, Engine, Made, line_of, without_comments
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
    engine = Engine.read(root)
    for made in engine.made:
        for wrong in (
            *header_faults(made),
            *object_faults(made),
            *setting_faults(engine, made),
            *place_faults(engine, made),
            *call_faults(engine, made),
        ):
            yield Offence(made.file, made.line, f"{made.kind} {made.name} {wrong}")


def clock_offences(file: Path, text: str) -> Iterator[Offence]:
    code = without_comments(text)
    for found in OTHER_CLOCKS.finditer(code):
        above = [made[3] for made in CREATE.finditer(code, 0, found.start())]
        if above[-1:] == [CLOCK]:
            continue
        wrong = f"{found[0].strip('( ')} must be rolecall.clock(), which tests can set"
        yield Offence(file, line_of(code, found.start()), wrong)


def width_offences(file: Path, text: str) -> Iterator[Offence]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MOST_COLUMNS:
            yield Offence(file, number, f"the line has {len(line)} columns, more than {MOST_COLUMNS}")


def header_faults(made: Made) -> Iterator[str]:
    if not made.header.purpose:
        yield "lacks a header that begins with a description"
    for word, answer in made.header.answers.items():
        if answer in {"", "nothing"}:
            yield f"has a line `-- {word}:` without content: remove it"


def object_faults(made: Made) -> Iterator[str]:
    if not made.replaces:
        yield f"must use `create or replace {made.kind}`, because the file is applied repeatedly"
    excused = made.kind == "view" or "search_path" in made.header.answers or COMMITS.search(made.code)
    if not (excused or SEARCH_PATH.search(made.code)):
        yield "lacks `set search_path = pg_catalog, pg_temp`"


def setting_faults(engine: Engine, made: Made) -> Iterator[str]:
    inherited = engine.inherited_settings[made.name]
    if any(name.startswith("enable_") for name, _ in made.settings) and NO_JIT not in made.settings | inherited:
        yield "sets enable_* = off, so it needs `set jit = off` too"
    for name, value in sorted(made.settings & inherited):
        yield f"sets {name} = {value}, as every caller does: remove the clause, which makes each call slower"


def place_faults(engine: Engine, made: Made) -> Iterator[str]:
    stem = made.file.stem
    if made.is_first and stem != made.name and stem in engine.by_name:
        yield f"is the first in {made.file.name}, which has the name of another object"
    if engine.is_for_others(made):
        return
    callers = engine.files_that_call(made)
    if not callers:
        yield "has no callers"
    elif made.file not in callers and len(callers) == 1 and not engine.is_shared(made.file):
        yield f"is called from {min(callers).name} only: move it there"


def call_faults(engine: Engine, made: Made) -> Iterator[str]:
    called = engine.called_by(made)
    caught = set(CAUGHT.findall(made.code))
    raised = set(RAISED.findall(made.code))
    if not CATCHES_ALL.search(made.code):
        excused = NOTHING_OF.findall(made.header.answers.get("raises", ""))
        raised |= {code for other in called if other.name not in excused for code in codes(engine, other)}
    if missing := sorted(raised - caught - codes(engine, made)):
        yield f"may raise {', '.join(missing)}, which its header does not list"
    for word in ("locks", "notifies"):
        sources = [other.name for other in called if word in other.header.answers]
        if sources and word not in made.header.answers:
            yield f"lacks `{word}`, which its callee {', '.join(sources)} has"


def codes(engine: Engine, made: Made, *asked: str) -> set[str]:
    """Return the error codes that a header names, directly or with `as X`."""
    said = made.header.answers.get("raises", "")
    others = [name for name in SAME_AS.findall(said) if name in engine.by_name and name not in asked]
    return set(CODE.findall(said)).union(*(codes(engine, engine.by_name[name], made.name, *asked) for name in others))


if __name__ == "__main__":
    sys.exit(report(offences(ROOT), ROOT))
