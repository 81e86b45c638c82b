"""`rolecall migrate`: bring a database to the schema of this release."""

from __future__ import annotations

from typing import Annotated

from typer import Option, echo

from rolecall.cli.output import print_line
from rolecall.cli.shell import Shell
from rolecall.db import migrator
from rolecall.db.connect import connect
from rolecall.model.errors import ConfigError, SchemaMissing


def migrate(
    shell: Shell,
    *,
    sql: Annotated[bool, Option("--sql", help="Print everything as one script; touch nothing.")] = False,
    check: Annotated[bool, Option("--check", help="Only say what is pending, exit 7 if any.")] = False,
) -> None:
    """Bring the database to the schema of this release; again changes nothing."""
    if sql and check:
        raise ConfigError("cannot be had together with --sql", variable="--check")
    if sql:
        text = migrator.sql_text()
        shell.show({"sql": text}, lambda: echo(text, nl=False))
    elif check:
        _check(shell)
    else:
        _migrate(shell)


def _migrate(shell: Shell) -> None:
    with shell.database(create=True) as dsn, connect(dsn, "migrate") as connection:
        applied = migrator.migrate(connection)
    done = f"applied: {', '.join(applied)}" if applied else "nothing to do: the schema is current"
    shell.show({"applied": applied}, lambda: print_line(done))


def _check(shell: Shell) -> None:
    with shell.database() as dsn, connect(dsn, "migrate") as connection:
        pending = migrator.pending(connection)
        if not pending:
            migrator.check(connection)
    shell.show({"pending": pending}, lambda: None if pending else print_line("the schema is current"))
    if pending:
        raise SchemaMissing(pending=pending)
