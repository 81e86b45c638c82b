"""The `rolecall` command: which subcommands there are, and how an error becomes a line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from rolecall.cli.commands import (
    capacity,
    chains,
    database,
    doctor,
    enqueue,
    handlers,
    insight,
    key_capacities,
    keys,
    maintenance,
    migrate,
    people,
    progress,
    roles,
    schedules,
    serve,
    tasks,
    up,
    worker,
    workers,
)
from rolecall.cli.exits import Terminated, leave, unwinding_on_signals
from rolecall.cli.options import ACCESS, HTTP, WORKING
from rolecall.cli.output import shown
from rolecall.cli.shell import with_shell
from rolecall.db.embedded import EmbeddedServerError
from rolecall.model.error_table import exit_code_for
from rolecall.model.errors import RolecallError

NAME = "rolecall"
NO_DATABASE = 6
INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command that this process was started with, and exit."""
    leave(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; answers go to stdout, an error as one line to stderr; returns the exit code."""
    try:
        with unwinding_on_signals():
            code = get_command(build())(arguments, prog_name=NAME, standalone_mode=False)
    except TyperException as error:
        return _complain(error.format_message(), error.exit_code)
    except RolecallError as error:
        return _complain(str(error), exit_code_for(error))
    except EmbeddedServerError as error:
        return _complain(str(error), NO_DATABASE)
    except typer.Abort:
        return INTERRUPTED
    except Terminated as end:
        return end.exit_code
    return code if isinstance(code, int) else 0


def build() -> typer.Typer:
    """Put the command line together."""
    app = _group("Role-based background work on Postgres.")
    app.callback()(_root)
    app.command("up")(with_shell(up.up, [*WORKING, *HTTP, *ACCESS]))
    app.command("migrate")(with_shell(migrate.migrate))
    app.command("dsn")(with_shell(database.dsn))
    app.command("psql", context_settings={"ignore_unknown_options": True})(with_shell(database.psql))
    app.command("worker")(with_shell(worker.worker, WORKING))
    app.command("serve")(with_shell(serve.serve, ACCESS))
    app.command("enqueue")(with_shell(enqueue.enqueue))
    app.add_typer(_tasks(), name="tasks")
    app.add_typer(_chains(), name="chains")
    app.command("counts")(with_shell(insight.counts))
    app.command("overview")(with_shell(insight.overview))
    app.command("history")(with_shell(insight.history))
    app.command("capacity")(with_shell(capacity.capacity))
    app.command("live")(with_shell(progress.roles))
    app.command("replicas")(with_shell(capacity.replicas))
    app.command("scale")(with_shell(capacity.scale))
    app.command("scale-target")(with_shell(capacity.scale_target))
    app.add_typer(_roles(), name="roles")
    app.add_typer(_handlers(), name="handlers")
    app.add_typer(_key_capacities(), name="key-capacities")
    app.add_typer(_workers(), name="workers")
    app.add_typer(_schedules(), name="schedules")
    app.add_typer(_keys(), name="keys")
    app.add_typer(_people(), name="people")
    app.command("audit")(with_shell(maintenance.audit))
    app.command("doctor")(with_shell(doctor.doctor))
    app.command("rescue")(with_shell(maintenance.rescue))
    app.command("prune")(with_shell(maintenance.prune))
    return app


def _tasks() -> typer.Typer:
    group = _group("List, show, retry, cancel, delete, complete and trigger tasks.")
    group.command("list")(with_shell(tasks.list_))
    group.command("show")(with_shell(tasks.show))
    group.command("why")(with_shell(tasks.why))
    group.command("tree")(with_shell(tasks.tree))
    group.command("needs")(with_shell(tasks.needs))
    group.command("attempts")(with_shell(tasks.attempts))
    group.command("progress")(with_shell(progress.tree))
    group.command("retry")(with_shell(tasks.retry))
    group.command("cancel")(with_shell(tasks.cancel))
    group.command("delete")(with_shell(tasks.delete))
    group.command("complete")(with_shell(tasks.complete))
    group.command("fail")(with_shell(tasks.fail))
    group.command("trigger")(with_shell(tasks.trigger))
    group.command("token")(with_shell(tasks.token))
    return group


def _chains() -> typer.Typer:
    group = _group("List, show, wait for, complete and delete chains.")
    group.command("list")(with_shell(chains.list_))
    group.command("show")(with_shell(chains.show))
    group.command("wait")(with_shell(chains.wait))
    group.command("blocking")(with_shell(chains.blocking))
    group.command("complete")(with_shell(chains.complete))
    group.command("delete")(with_shell(chains.delete))
    return group


def _roles() -> typer.Typer:
    group = _group("List, pause and resume roles.")
    group.command("list")(with_shell(roles.list_))
    group.command("pause")(with_shell(roles.pause))
    group.command("resume")(with_shell(roles.resume))
    return group


def _handlers() -> typer.Typer:
    group = _group("List and show handlers.")
    group.command("list")(with_shell(handlers.list_))
    group.command("show")(with_shell(handlers.show))
    return group


def _key_capacities() -> typer.Typer:
    group = _group("List, show, set and reset how many tasks of one key run at once.")
    group.command("list")(with_shell(key_capacities.list_))
    group.command("show")(with_shell(key_capacities.show))
    group.command("set")(with_shell(key_capacities.set_))
    group.command("reset")(with_shell(key_capacities.reset))
    return group


def _workers() -> typer.Typer:
    group = _group("List, show, drain, decommission and resume workers.")
    group.command("list")(with_shell(workers.list_))
    group.command("show")(with_shell(workers.show))
    group.command("drain")(with_shell(workers.drain))
    group.command("decommission")(with_shell(workers.decommission))
    group.command("resume")(with_shell(workers.resume))
    return group


def _schedules() -> typer.Typer:
    group = _group("List, store, preview, trigger and delete schedules.")
    group.command("list")(with_shell(schedules.list_))
    group.command("show")(with_shell(schedules.show))
    group.command("put")(with_shell(schedules.put))
    group.command("trigger")(with_shell(schedules.trigger))
    group.command("preview")(with_shell(schedules.preview))
    group.command("ahead")(with_shell(schedules.ahead))
    group.command("runs")(with_shell(schedules.runs))
    group.command("outcomes")(with_shell(schedules.outcomes))
    group.command("enable")(with_shell(schedules.enable))
    group.command("disable")(with_shell(schedules.disable))
    group.command("delete")(with_shell(schedules.delete))
    return group


def _keys() -> typer.Typer:
    group = _group("Make, list and revoke API keys, with which programs come in over HTTP.")
    group.command("create")(with_shell(keys.create))
    group.command("list")(with_shell(keys.list_))
    group.command("revoke")(with_shell(keys.revoke))
    return group


def _people() -> typer.Typer:
    group = _group("Add, list, unlock and remove the people who log in over HTTP.")
    group.command("add")(with_shell(people.add))
    group.command("list")(with_shell(people.list_))
    group.command("remove")(with_shell(people.remove))
    group.command("password")(with_shell(people.password))
    group.command("unlock")(with_shell(people.unlock))
    return group


def _group(help_text: str) -> typer.Typer:
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {metadata.version(NAME)}")
        raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which version.")
    ] = False,
) -> None:
    """Role-based background work on Postgres."""


def _complain(problem: str, code: int) -> int:
    line = " ".join(problem.split())
    print(f"{NAME}: {shown(line)}", file=sys.stderr)
    return code
