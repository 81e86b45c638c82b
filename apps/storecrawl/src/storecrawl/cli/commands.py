"""The `storecrawl` command: what it can do, each imported when it is asked for, and how an error becomes a line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pkgutil import resolve_name
from typing import NoReturn

import typer
from typer.exceptions import TyperException
from typer.main import get_install_completion_arguments

from rolecall import cli
from rolecall.cli import LateCommand, PlainGroup, Terminated, plain_group, unwinding_on_signals

NAME = "storecrawl"
SAYS = "Discovers stores, fetches their menus, keeps every payload, and turns payloads into products."
INTERRUPTED = 130
# Each with where its function, or its group, is and how its help begins.
COMMANDS = (
    ("demo", "demo:demo", "Crawl a whole world on this machine: database, upstream, schedules, workers; then stay up."),
    (
        "normalize",
        "normalize:show_normalized",
        "Show what the normalizer makes of a captured menu; exit 2 for a file that is no menu.",
    ),
    (
        "migrate",
        "migrate:migrate_database",
        "Bring Rolecall's and the crawler's tables of a given database up to date.",
    ),
    ("payloads", "payloads:payloads", "The crawl payloads that are kept."),
    ("discovery", "discovery:discovery", "Where stores come from: states, cities and the locations found there."),
    ("generate", "generate:generate", "Tasks for many stores at once."),
    ("routes", "routes:routes", "Outgoing routes: by which proxies, or by none, the crawler's requests leave."),
)


def main() -> NoReturn:
    """Run the command that this process was started with, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; answers go to stdout, an error as one line to stderr; returns the exit code."""
    try:
        with unwinding_on_signals():
            code = build()(arguments, prog_name=NAME, standalone_mode=False)
    except TyperException as error:
        return complain(error.format_message(), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Terminated as end:
        return end.exit_code
    except Exception as error:
        found: int | None = resolve_name("storecrawl.cli.failures:exit_code_of")(error)
        if found is None:
            raise
        return complain(str(error), found)
    return code if isinstance(code, int) else 0


def build() -> PlainGroup:
    """Put the command line together; no command is imported yet."""
    commands = [
        LateCommand(name, says, partial(resolve_name, f"storecrawl.cli.{place}")) for name, place, says in COMMANDS
    ]
    group = plain_group(NAME, SAYS, commands)
    group.params.extend(get_install_completion_arguments())
    return group


def complain(problem: str, code: int) -> int:
    """Write what is wrong as one line to stderr; returns the code."""
    line = " ".join(problem.split())
    print(f"{NAME}: {cli.shown(line)}", file=sys.stderr)
    return code
