"""The pages of the public SQL functions, by folder, from their headers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.engine import FUNCTIONS, Engine, Made
from tools.reference.markdown import cell, code, heading, table
from tools.sql_headers import SAME_AS

__all__ = ["pages"]

SAYS = """\
The engine is written in SQL, so any language with a Postgres driver can call it. These functions are public: their
names, parameters and results stay the same across releases. All others in the schema `rolecall` are internal. The
errors of a function are SQLSTATEs of [the table of errors](errors.md)."""
# The fields of a header that are shown, in this order.
ANSWERS = ("returns", "raises", "locks", "notifies")
OPTIONS = re.compile(
    r"^(language|(im)?mutable|stable|volatile|strict|security|parallel|set|rows|cost|as|leakproof)\b", re.MULTILINE
)
BY_ITSELF = "base"


def pages(root: Path) -> Mapping[str, str]:
    """Return an overview, and a page per folder."""
    engine = Engine.read(root)
    subjects = public(engine, root)
    return {"reference/sql.md": overview(subjects)} | {
        f"reference/sql/{subject}.md": "\n\n".join(
            [f"# SQL: {subject}", *(described(engine, each) for each in made), ""]
        )
        for subject, made in subjects.items()
    }


def public(engine: Engine, root: Path) -> Mapping[str, Sequence[Made]]:
    """Return the public functions by folder."""
    found: dict[str, list[Made]] = defaultdict(list)
    for made in engine.made:
        if made.is_public:
            folders = made.file.relative_to(root / FUNCTIONS).parent.parts
            found[folders[0] if folders else BY_ITSELF].append(made)
    return {subject: sorted(found[subject], key=lambda made: made.name) for subject in sorted(found)}


def overview(subjects: Mapping[str, Sequence[Made]]) -> str:
    return "\n\n".join(["# SQL functions", SAYS, *(text for each in subjects.items() for text in listed(*each)), ""])


def listed(subject: str, functions: Sequence[Made]) -> Iterator[str]:
    yield heading(2, subject, subject)
    rows = ([f"[`{made.name}`](sql/{subject}.md#{made.name})", cell(made.header.purpose)] for made in functions)
    yield table(["function", "description"], rows)


def described(engine: Engine, made: Made) -> str:
    answers = [f"- *{word}*: {cell(said)}" for word in ANSWERS if (said := answer(engine, made, word))]
    pieces = [heading(2, f"`{made.name}`", made.name), cell(made.header.purpose), code(signature(made), "sql")]
    return "\n\n".join([*pieces, "\n".join(answers)] if answers else pieces)


def answer(engine: Engine, made: Made, word: str) -> str:
    """Return a field of a header, with each `as X` replaced by the field of X's header."""

    def same(found: re.Match[str]) -> str:
        other = engine.by_name.get(found[1])
        return answer(engine, other, word) or found[0] if other is not None and other is not made else found[0]

    return SAME_AS.sub(same, made.header.answers.get(word, ""))


def signature(made: Made) -> str:
    """Return the part before the body: name, parameters and result; for a view, its name."""
    head = made.code[: found.start()] if (found := OPTIONS.search(made.code)) else made.code
    return head.replace("create or replace ", "", 1).strip()
