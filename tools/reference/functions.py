"""The pages of the public SQL functions, by folder, from their headers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.engine import FUNCTIONS, Engine, SqlObject
from tools.reference.markdown import cell, code, heading, table
from tools.sql_headers import SAME_AS

INTRODUCTION = """\
The engine is written in SQL, so any language with a Postgres driver can call it. These functions are public: their
names, parameters and results stay the same across releases. All others in the schema `rolecall` are internal. The
errors of a function are SQLSTATEs of [the table of errors](errors.md)."""
# The fields of a header that are shown, in this order.
FIELDS = ("returns", "raises", "locks", "notifies")
OPTIONS = re.compile(
    r"^(language|(im)?mutable|stable|volatile|strict|security|parallel|set|rows|cost|as|leakproof)\b", re.MULTILINE
)
UNGROUPED = "base"


def pages(root: Path) -> Mapping[str, str]:
    """Return an overview, and a page per folder."""
    engine = Engine.read(root)
    subjects = public(engine, root)
    return {"reference/sql.md": overview(subjects)} | {
        f"reference/sql/{subject}.md": "\n\n".join(
            [f"# SQL: {subject}", *(describe(engine, each) for each in sql_objects), ""]
        )
        for subject, sql_objects in subjects.items()
    }


def public(engine: Engine, root: Path) -> Mapping[str, Sequence[SqlObject]]:
    """Return the public functions by folder."""
    found: dict[str, list[SqlObject]] = defaultdict(list)
    for sql_object in engine.objects:
        if sql_object.is_public:
            folders = sql_object.file.relative_to(root / FUNCTIONS).parent.parts
            found[folders[0] if folders else UNGROUPED].append(sql_object)
    return {subject: sorted(found[subject], key=lambda sql_object: sql_object.name) for subject in sorted(found)}


def overview(subjects: Mapping[str, Sequence[SqlObject]]) -> str:
    return "\n\n".join(
        ["# SQL functions", INTRODUCTION, *(text for each in subjects.items() for text in list_functions(*each)), ""]
    )


def list_functions(subject: str, functions: Sequence[SqlObject]) -> Iterator[str]:
    yield heading(2, subject, subject)
    rows = (
        [f"[`{sql_object.name}`](sql/{subject}.md#{sql_object.name})", cell(sql_object.header.purpose)]
        for sql_object in functions
    )
    yield table(["function", "description"], rows)


def describe(engine: Engine, sql_object: SqlObject) -> str:
    answers = [f"- *{word}*: {cell(text)}" for word in FIELDS if (text := answer(engine, sql_object, word))]
    pieces = [
        heading(2, f"`{sql_object.name}`", sql_object.name),
        cell(sql_object.header.purpose),
        code(signature(sql_object), "sql"),
    ]
    return "\n\n".join([*pieces, "\n".join(answers)] if answers else pieces)


def answer(engine: Engine, sql_object: SqlObject, word: str) -> str:
    """Return a field of a header, with each `as X` replaced by the field of X's header."""

    def replace_reference(found: re.Match[str]) -> str:
        other = engine.by_name.get(found[1])
        return answer(engine, other, word) or found[0] if other is not None and other is not sql_object else found[0]

    return SAME_AS.sub(replace_reference, sql_object.header.answers.get(word, ""))


def signature(sql_object: SqlObject) -> str:
    """Return the part before the body: name, parameters and result; for a view, its name."""
    head = sql_object.code[: found.start()] if (found := OPTIONS.search(sql_object.code)) else sql_object.code
    return head.replace("create or replace ", "", 1).strip()
