"""The `rolecall` command: which subcommands there are, and how an error becomes a line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from rolecall.cli.commands import enqueue, insight, maintenance, migrate, schedules, tasks, up, worker
from rolecall.cli.options import WORKING
from rolecall.cli.shell import with_shell
from rolecall.cli.termination import Terminated, unwinding_on_sigterm
from rolecall.db.embedded import EmbeddedServerError
from rolecall.model.errors import RolecallError, exit_code_for

NAME = "rolecall"
NO_DATABASE = 6
INTERRUPTED = 130
TERMINATED = 143


def main() -> NoReturn:
    """Run the command that this process was started with, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; answers go to stdout, an error as one line to stderr; returns the exit code."""
    try:
        with unwinding_on_sigterm():
            code = get_command(build())(arguments, prog_name=NAME, standalone_mode=False)
    except TyperException as error:
        return _complain(error.format_message(), error.exit_code)
    except RolecallError as error:
        return _complain(str(error), exit_code_for(error))
    except EmbeddedServerError as error:
        return _complain(str(error), NO_DATABASE)
    except typer.Abort:
        return INTERRUPTED
    except Terminated:
        return TERMINATED
    return code if isinstance(code, int) else 0


def build() -> typer.Typer:
    """Put the command line together."""
    app = _group("Role-based background work on Postgres.")
    app.callback()(_root)
    app.command("up")(with_shell(up.up, WORKING))
    app.command("migrate")(with_shell(migrate.migrate))
    app.command("worker")(with_shell(worker.worker, WORKING))
    app.command("enqueue")(with_shell(enqueue.enqueue))
    app.add_typer(_tasks(), name="tasks")
    app.command("counts")(with_shell(insight.counts))
    app.command("capacity")(with_shell(insight.capacity))
    app.command("roles")(with_shell(insight.roles))
    app.command("workers")(with_shell(insight.workers))
    app.add_typer(_schedules(), name="schedules")
    app.command("rescue")(with_shell(maintenance.rescue))
    app.command("prune")(with_shell(maintenance.prune))
    return app


def _tasks() -> typer.Typer:
    group = _group("List, show, retry and cancel tasks.")
    group.command("list")(with_shell(tasks.list_))
    group.command("show")(with_shell(tasks.show))
    group.command("retry")(with_shell(tasks.retry))
    group.command("cancel")(with_shell(tasks.cancel))
    return group


def _schedules() -> typer.Typer:
    group = _group("List, store, trigger and delete schedules.")
    group.command("list")(with_shell(schedules.list_))
    group.command("put")(with_shell(schedules.put))
    group.command("trigger")(with_shell(schedules.trigger))
    group.command("delete")(with_shell(schedules.delete))
    return group


def _group(help_text: str) -> typer.Typer:
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _print_version(asked: bool) -> None:
    if asked:
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
    print(f"{NAME}: {line}", file=sys.stderr)
    return code
