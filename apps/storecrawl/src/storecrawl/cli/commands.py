"""The `storecrawl` command."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import psycopg
import typer
from rich.console import Console
from typer import Argument, Exit, Option
from typer.exceptions import TyperException
from typer.main import get_command

from rolecall import ConfigError, DatabaseError, EmbeddedServerError, RolecallError, grant_roles, migrate
from rolecall.cli import Terminated, shown, unwinding_on_signals
from storecrawl.catalog import CatalogError
from storecrawl.catalog.normalize import NotAMenu
from storecrawl.cli.connect import checked_address
from storecrawl.cli.discovery import discovery
from storecrawl.cli.generate import generate
from storecrawl.cli.normalize import normalize_file, render, render_json
from storecrawl.cli.payloads import payloads
from storecrawl.cli.routes import routes
from storecrawl.demo.options import MOST_FAILURES, DemoOptions
from storecrawl.demo.processes import KeepsDying
from storecrawl.demo.run import Cycle, Stopped, run_cycle, run_on
from storecrawl.demo.screen import screen_for
from storecrawl.egress import RouteError
from storecrawl.migrations import MIGRATIONS, grant_crawl_tables
from storecrawl.payloads import PayloadError

NAME = "storecrawl"
INCOMPLETE = 1
MISUSED = 2
NO_DATABASE = 6
INTERRUPTED = 130
SIGNALLED = 128


commands = typer.Typer(
    help="Discovers stores, fetches their menus, keeps every payload, and turns payloads into products.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
commands.add_typer(payloads, name="payloads")
commands.add_typer(discovery, name="discovery")
commands.add_typer(generate, name="generate")
commands.add_typer(routes, name="routes")


def main() -> NoReturn:
    """Run the command that this process was started with, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; answers go to stdout, an error as one line to stderr; returns the exit code."""
    try:
        with unwinding_on_signals():
            code = get_command(commands)(arguments, prog_name=NAME, standalone_mode=False)
    except TyperException as error:
        return _complain(error.format_message(), error.exit_code)
    except ConfigError as error:
        return _complain(str(error), MISUSED)
    except (DatabaseError, EmbeddedServerError, psycopg.Error) as error:
        return _complain(str(error), NO_DATABASE)
    except (RolecallError, KeepsDying, CatalogError, PayloadError, NotAMenu, RouteError) as error:
        return _complain(str(error), INCOMPLETE)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Terminated as end:
        return end.exit_code
    return code if isinstance(code, int) else 0


@commands.command()
def demo(  # sizes: a command's flags
    *,
    once: Annotated[bool, Option("--once", help="One full cycle to the end, then exit.")] = False,
    as_json: Annotated[bool, Option("--json", help="With --once: print one JSON summary and nothing else.")] = False,
    stores: Annotated[
        int | None, Option(min=1, max=5_000, help="Stores of the local upstream.", show_default="300")
    ] = None,
    seed: Annotated[int | None, Option(help="Seed of the local upstream's world.", show_default="1")] = None,
    failure_rate: Annotated[
        float, Option(min=0.0, max=MOST_FAILURES, help="Share of the local upstream's answers that fail.")
    ] = 0.0,
    upstream: Annotated[str | None, Option(metavar="URL", help="Crawl this instead of the local upstream.")] = None,
    database_url: Annotated[
        str | None,
        Option(
            envvar="DATABASE_URL",
            metavar="URL",
            callback=checked_address,
            help="Work on this Postgres instead of the embedded one.",
        ),
    ] = None,
    data_dir: Annotated[
        Path, Option(metavar="DIR", help="Holds everything: database, payloads, logs; a second run there goes on.")
    ] = Path("storecrawl-data"),
    processes: Annotated[int, Option(min=1, max=64, help="Worker processes.")] = 2,
    slots: Annotated[int, Option(min=1, max=256, help="Tasks at once in each worker process.")] = 4,
    step_seconds: Annotated[
        float, Option(min=5.0, help="Wall time of four simulated hours, a round of the crawl.")
    ] = 180.0,
    api: Annotated[bool, Option(help="Serve the dashboard and the API meanwhile, on this machine only.")] = True,
) -> None:
    """Crawl a whole world on this machine: database, upstream, schedules, workers; then stay up.

    Exit codes: 0 all is there, or the end was asked for; 1 something is missing (it says what); 2 a wrong option;
    6 no database.
    """
    if as_json and not once:
        raise ConfigError("there is no summary without --once", variable="--json")
    options = DemoOptions(
        data_dir=data_dir, stores=stores, seed=seed, upstream=upstream, database=database_url,
        failure_rate=failure_rate, once=once, processes=processes, slots=slots, step_seconds=step_seconds, api=api,
    )  # fmt: skip
    raise Exit(_demo_once(options, as_json=as_json) if once else _demo_on(options))


@commands.command()
def normalize(
    file: Annotated[Path, Argument(help="A captured menu, plain or gzipped JSON.")],
    *,
    as_json: Annotated[bool, Option("--json", help="Print everything as one JSON document.")] = False,
) -> None:
    """Show what the normalizer makes of a captured menu; exit 2 for a file that is no menu."""
    code, report = normalize_file(file)
    if as_json:
        print(render_json(report))
    else:
        Console(stderr=code != 0).print(render(report))
    raise Exit(code)


@commands.command("migrate")
def migrate_database(
    database_url: Annotated[
        str,
        Option(
            envvar="DATABASE_URL",
            metavar="URL",
            callback=checked_address,
            help="The database to bring up to date.",
        ),
    ],
    *,
    roles: Annotated[bool, Option("--roles", help="Also make the database roles of least privilege.")] = False,
) -> None:
    """Bring Rolecall's and the crawler's tables of a given database up to date."""
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=None) as connection:
        done = [*migrate(connection), *migrate(connection, MIGRATIONS)]
        if roles:
            grant_roles(connection)
            grant_crawl_tables(connection)
    print("\n".join(done) or "nothing to do")


def _demo_once(options: DemoOptions, *, as_json: bool) -> int:
    try:
        with screen_for(options, quiet=as_json) as screen:
            cycle = run_cycle(options, screen)
    except Stopped as end:
        return SIGNALLED + end.number
    print(json.dumps(cycle.summary()) if as_json else _in_words(cycle))
    if cycle.api and not as_json and sys.stdout.isatty():
        print("The dashboard has ended with the cycle; without --once both go on until Ctrl-C.")
    for problem in cycle.problems:
        _complain(problem, INCOMPLETE)
    return INCOMPLETE if cycle.problems else 0


def _demo_on(options: DemoOptions) -> int:
    try:
        with screen_for(options, quiet=False) as screen:
            run_on(options, screen)
    except Stopped:
        print(f"Ended. {options.data_dir} keeps everything: the next demo there goes on.")
    return 0


def _in_words(cycle: Cycle) -> str:
    figures = cycle.figures
    return (
        f"{figures.stores:,} stores, {figures.payloads:,} payloads, {figures.products:,} products with"
        f" {figures.variants:,} variants, {figures.snapshots:,} snapshots; {figures.ended_tasks:,} tasks,"
        f" {figures.failed_tasks:,} of them failed; {cycle.seconds:.1f} seconds"
    )


def _complain(problem: str, code: int) -> int:
    line = " ".join(problem.split())
    if line:  # a bare `storecrawl` has printed its help
        print(f"{NAME}: {shown(line)}", file=sys.stderr)
    return code
