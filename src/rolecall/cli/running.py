"""Runs a command line, and turns errors into one line on stderr and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from rolecall.cli.dotenv import load_dotenv
from rolecall.cli.exits import Terminated, unwinding_on_signals

INTERRUPTED = 130
# The class of all errors in the use of a command. Its name and module depend on the version of typer.
UsageError: Any = typer.BadParameter.mro()[-4]


def run_command(
    name: str,
    build: Callable[[], TyperGroup],
    arguments: Sequence[str],
    exit_code_of: Callable[[Exception], int | None],
) -> int:
    """Build a command line, run one of its commands, and return the exit code.

    Variables in `.env` in the working directory are set first, unless they are set already.
    An error is printed as one line to stderr. `exit_code_of` returns the exit code for an exception, or None for an
    unexpected one, which is raised.
    """
    try:
        load_dotenv()
        with unwinding_on_signals():
            code = build()(arguments, prog_name=name, standalone_mode=False)
    except UsageError as error:
        return complain(name, error.format_message(), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Terminated as end:
        return end.exit_code
    except Exception as error:
        found = exit_code_of(error)
        if found is None:
            raise
        return complain(name, str(error), found)
    return code if isinstance(code, int) else 0


def complain(name: str, problem: str, code: int) -> int:
    """Print a problem as one line to stderr, after the name of the command, and return the code."""
    line = " ".join(problem.split())
    from rolecall.cli.output import shown  # noqa: PLC0415 - only errors need it, and it takes long to import

    print(f"{name}: {shown(line)}", file=sys.stderr)
    return code
