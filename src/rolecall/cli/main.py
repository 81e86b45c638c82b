"""The `rolecall` command: builds the command line, and chooses the exit code for an error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group, get_install_completion_arguments

from rolecall.cli.exits import leave
from rolecall.cli.late import HELP_OPTIONS, LateCommand, PlainGroup, plain_group
from rolecall.cli.running import run_command
from rolecall.cli.verbs import COMMANDS, Noun, Verb
from rolecall.embedded.errors import EmbeddedServerError
from rolecall.model.error_table import exit_code_for
from rolecall.model.errors import RolecallError
from rolecall.model.lazy import import_with_driver
from rolecall.model.platforms import refuse_windows
from rolecall.model.start_up import pause_collections

NAME = "rolecall"
NO_DATABASE = 6


def main() -> NoReturn:
    """Run the command that this process was started with, and exit. Its garbage is collected once it is imported."""
    pause_collections()
    leave(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Output goes to stdout, an error as one line to stderr."""
    return run_command(NAME, _build_here, arguments, _exit_code_of)


def _build_here() -> TyperGroup:
    refuse_windows("this command", "run it in WSL or in a container (a Client in Python works on Windows)")
    return build()


def _exit_code_of(error: Exception) -> int | None:
    if isinstance(error, EmbeddedServerError):
        return NO_DATABASE
    return exit_code_for(error) if isinstance(error, RolecallError) else None


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
    return LateCommand(verb.name, verb.summary, lambda: _maker()(verb), verb.context)


def _maker() -> Any:
    """Return `as_command`. Its module imports the driver, which listing the commands does not need."""
    return import_with_driver("rolecall.cli.shell").as_command


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"{NAME} {metadata.version(NAME)}")
        raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A background job system for Python on Postgres."""
