"""The `rolecall` command: builds the command line and turns errors into one line on stderr and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from pkgutil import resolve_name
from typing import Annotated, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_group, get_install_completion_arguments

from rolecall import cli
from rolecall.cli.exits import Terminated, leave, unwinding_on_signals
from rolecall.cli.late import HELP_OPTIONS, LateCommand, PlainGroup, plain_group
from rolecall.cli.verbs import COMMANDS, Noun, Verb
from rolecall.db.embedded.errors import EmbeddedServerError
from rolecall.model.error_table import exit_code_for
from rolecall.model.errors import RolecallError
from rolecall.model.platforms import refuse_windows

NAME = "rolecall"
NO_DATABASE = 6
INTERRUPTED = 130
# Makes a command of a function. Imported by name, because it imports the driver, which listing the commands
# does not need.
MAKE = "rolecall.cli.shell:as_command"


def main() -> NoReturn:
    """Run the command that this process was started with, and exit."""
    leave(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Output goes to stdout, an error as one line to stderr."""
    try:
        refuse_windows("this command", "run it in WSL or in a container (a Client in Python works on Windows)")
        with unwinding_on_signals():
            code = build()(arguments, prog_name=NAME, standalone_mode=False)
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


def build() -> TyperGroup:
    """Build the command line without importing any command."""
    app = typer.Typer(context_settings=HELP_OPTIONS, rich_markup_mode=None)
    app.callback(cls=PlainGroup)(_root)
    group = get_group(app)
    group.params.extend(get_install_completion_arguments())
    for each in COMMANDS:
        group.add_command(_command(each) if isinstance(each, Verb) else _group(each))
    return group


def _group(noun: Noun) -> PlainGroup:
    return plain_group(noun.name, noun.summary, map(_command, noun.verbs))


def _command(verb: Verb) -> LateCommand:
    return LateCommand(verb.name, verb.summary, lambda: resolve_name(MAKE)(verb), verb.context)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {metadata.version(NAME)}")
        raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A background job system for Python on Postgres."""


def _complain(problem: str, code: int) -> int:
    line = " ".join(problem.split())
    print(f"{NAME}: {cli.shown(line)}", file=sys.stderr)
    return code
