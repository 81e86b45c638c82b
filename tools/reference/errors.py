"""The page of the errors: the tree, and each error with its SQLSTATEs, HTTP status and exit code."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall.model import errors as model
from rolecall.model.error_table import ERROR_TABLE, ErrorRow
from rolecall.model.errors import RolecallError
from rolecall.web.http.problems import kind_of
from tools.reference.markdown import cell, code, heading, prose, slug, table

INTRODUCTION = """\
All of Rolecall's own errors are subclasses of `RolecallError`, with their details as attributes. This table also
determines the exit codes of commands and the statuses of HTTP responses. Over HTTP, an error is a problem document
(RFC 9457) whose `type` is the name below; in SQL, it is an SQLSTATE."""


def page() -> str:
    """Return the tree and every error of the table."""
    tree = (model.__doc__ or "").partition("\n\n")[2]
    rows = (
        [
            f"[`{row.error.__name__}`](#{slug(row.error.__name__)})",
            ", ".join(f"`{state}`" for state in row.sqlstates if state.startswith("RC")),
            str(row.http_status),
            f"`{kind_of(row.error)}`",
            str(row.exit_code),
        ]
        for row in by_name()
    )
    return "\n\n".join(
        [
            "# Errors",
            INTRODUCTION,
            code(tree, "text"),
            table(["error", "SQLSTATE", "HTTP", "type over HTTP", "exit code"], rows),
            *(section for row in by_name() for section in describe(row)),
            "",
        ]
    )


def by_name() -> list[ErrorRow]:
    return sorted(ERROR_TABLE, key=lambda row: row.error.__name__)


def describe(row: ErrorRow) -> Iterator[str]:
    name = row.error.__name__
    yield heading(2, f"`{name}`", slug(name))
    yield prose(row.error.__doc__)
    base = row.error.__bases__[0]
    if row.error is not RolecallError:
        yield f"A kind of {cell(base.__name__)}."
