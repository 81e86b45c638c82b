"""`rolecall migrate`: bring a database to the schema of this release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from typer import Option, echo

from rolecall.cli.locate import load_app
from rolecall.cli.output import print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.db import migrator
from rolecall.db.connect import connect
from rolecall.db.migrations import ROLECALL, Migrations
from rolecall.db.migrator import make_room
from rolecall.db.privileges import roles_text
from rolecall.model.errors import ConfigError, SchemaMissing

AppReference = Annotated[
    str | None, Option("--app", metavar="MODULE:APP", help="Also apply the migrations of this App.")
]
COLUMNS = ("step", "how", "files")


def migrate(  # sizes: each is an option of the command
    shell: Shell,
    *,
    app: AppReference = None,
    sql: Annotated[
        bool, Option("--sql", help="Print a script for an empty database, or with --plan for this one. Change nothing.")
    ] = False,
    plan: Annotated[bool, Option("--plan", help="Only show the steps that would be applied.")] = False,
    check: Annotated[
        bool, Option("--check", help="Only show pending migrations; exit with 7 if there are any.")
    ] = False,
    roles: Annotated[
        bool, Option("--roles", help="Also create the database roles. With --sql, only print the statements.")
    ] = False,
    patience: Annotated[
        float, Option(metavar="SECONDS", min=0.0, help="How long a step may wait for its locks.")
    ] = migrator.PATIENCE,
) -> None:
    if check and (sql or plan or roles):
        raise ConfigError("cannot be combined with --sql, --plan or --roles", variable="--check")
    if plan and roles:
        raise ConfigError("cannot be combined with --roles", variable="--plan")
    if check:
        _check(shell, app)
    elif sql and roles:
        shell.show({"sql": roles_text()}, lambda: echo(roles_text(), nl=False))
    elif sql:
        _print_script(shell, app, for_this_one=plan)
    elif plan:
        _plan(shell, app)
    else:
        _migrate(shell, app, patience, with_roles=roles)


def _packages(reference: str | None) -> Iterator[Migrations]:
    """Yield our migrations first, because an app's module may use the database while it is imported."""
    yield ROLECALL
    if reference is not None:
        yield from load_app(reference).migrations


def _step_name(package: Migrations, step: str) -> str:
    return step if package is ROLECALL else f"{package.name}/{step}"


def _migrate(shell: Shell, app: str | None, patience: float, *, with_roles: bool) -> None:
    applied: list[str] = []
    with shell.database(create=True) as dsn, connect(dsn, "migrate") as connection:
        for package in _packages(app):
            applied += [_step_name(package, step) for step in migrator.migrate(connection, package, patience=patience)]
        make_room(connection)
        if with_roles:
            migrator.grant_roles(connection)
    done = f"applied: {', '.join(applied)}" if applied else "nothing to do: the schema is current"
    shell.show({"applied": applied}, lambda: print_line(done))


def _plan(shell: Shell, app: str | None) -> None:
    with shell.database() as dsn, connect(dsn, "migrate") as connection:
        steps = [
            replace(planned, step=_step_name(package, planned.step))
            for package in _packages(app)
            for planned in migrator.plan(connection, package)
        ]
    rows = [
        (step.step, "a transaction" if step.transaction else "by itself", len(step.files) or None) for step in steps
    ]
    shell.show({"plan": steps}, lambda: print_table(COLUMNS, rows, "nothing to do: the schema is current"))


def _print_script(shell: Shell, app: str | None, *, for_this_one: bool) -> None:
    if for_this_one:
        with shell.database() as dsn, connect(dsn, "migrate") as connection:
            text = "".join(migrator.pending_sql(connection, package) for package in _packages(app))
    else:
        text = "".join(map(migrator.sql_text, _packages(app)))
    shell.show({"sql": text}, lambda: echo(text, nl=False))


def _check(shell: Shell, app: str | None) -> None:
    pending = {}
    with shell.database() as dsn, connect(dsn, "migrate") as connection:
        for package in _packages(app):
            if steps := migrator.pending(connection, package):
                pending[package.name] = [_step_name(package, step) for step in steps]
            else:
                migrator.check(connection, package)
    every = [step for steps in pending.values() for step in steps]
    shell.show({"pending": every}, lambda: None if every else print_line("the schema is current"))
    if pending:
        raise SchemaMissing(package=next(iter(pending)), pending=every)
