"""`rolecall migrate`: bring a database to the schema of this release."""

from __future__ import annotations

from typing import Annotated

from typer import Option, echo

from rolecall.cli.output import print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.db import migrator
from rolecall.db.connect import connect
from rolecall.db.migrator import make_room
from rolecall.db.privileges import roles_text
from rolecall.model.errors import ConfigError, SchemaMissing

COLUMNS = ("step", "how", "files")


def migrate(
    shell: Shell,
    *,
    sql: Annotated[
        bool, Option("--sql", help="Print a script for an empty database; with --plan, for this one. Touch nothing.")
    ] = False,
    plan: Annotated[bool, Option("--plan", help="Only say what would be done, step by step.")] = False,
    check: Annotated[bool, Option("--check", help="Only say what is pending, exit 7 if any.")] = False,
    roles: Annotated[
        bool, Option("--roles", help="Also make the database roles of least privilege; with --sql, print only how.")
    ] = False,
    patience: Annotated[
        float, Option(metavar="SECONDS", min=0.0, help="Give up on a step that has not got its locks for so long.")
    ] = migrator.PATIENCE,
) -> None:
    """Bring the database to the schema of this release, while workers work; again changes nothing."""
    if check and (sql or plan or roles):
        raise ConfigError("cannot be had together with --sql, --plan or --roles", variable="--check")
    if plan and roles:
        raise ConfigError("cannot be had together with --roles", variable="--plan")
    if check:
        _check(shell)
    elif sql and roles:
        shell.show({"sql": roles_text()}, lambda: echo(roles_text(), nl=False))
    elif sql:
        _print_script(shell, for_this_one=plan)
    elif plan:
        _plan(shell)
    else:
        _migrate(shell, patience, with_roles=roles)


def _migrate(shell: Shell, patience: float, *, with_roles: bool) -> None:
    with shell.database(create=True) as dsn, connect(dsn, "migrate") as connection:
        applied = migrator.migrate(connection, patience=patience)
        make_room(connection)
        if with_roles:
            migrator.grant_roles(connection)
    done = f"applied: {', '.join(applied)}" if applied else "nothing to do: the schema is current"
    shell.show({"applied": applied}, lambda: print_line(done))


def _plan(shell: Shell) -> None:
    with shell.database() as dsn, connect(dsn, "migrate") as connection:
        steps = migrator.plan(connection)
    rows = [
        (step.step, "a transaction" if step.transaction else "by itself", len(step.files) or None) for step in steps
    ]
    shell.show({"plan": steps}, lambda: print_table(COLUMNS, rows, "nothing to do: the schema is current"))


def _print_script(shell: Shell, *, for_this_one: bool) -> None:
    if for_this_one:
        with shell.database() as dsn, connect(dsn, "migrate") as connection:
            text = migrator.pending_sql(connection)
    else:
        text = migrator.sql_text()
    shell.show({"sql": text}, lambda: echo(text, nl=False))


def _check(shell: Shell) -> None:
    with shell.database() as dsn, connect(dsn, "migrate") as connection:
        pending = migrator.pending(connection)
        if not pending:
            migrator.check(connection)
    shell.show({"pending": pending}, lambda: None if pending else print_line("the schema is current"))
    if pending:
        raise SchemaMissing(pending=pending)
