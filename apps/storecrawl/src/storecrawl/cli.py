"""The `storecrawl` command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from rolecall import EmbeddedServerError, RolecallError, migrate
from typer import Argument, Option

from storecrawl.demo.options import DemoOptions
from storecrawl.demo.processes import KeepsDying
from storecrawl.demo.run import Cycle, Stopped, run_cycle, run_on
from storecrawl.demo.screen import Screen
from storecrawl.normalize_command import normalize_file, render, render_json
from storecrawl.schema import MIGRATIONS

INCOMPLETE = 1
NO_DATABASE = 6
INTERRUPTED = 130

commands = typer.Typer(
    help="Discovers stores, fetches their menus, keeps every payload, and turns payloads into products.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command that this process was started with."""
    try:
        commands()
    except (RolecallError, EmbeddedServerError, KeepsDying, psycopg.OperationalError) as error:
        print(f"storecrawl: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(NO_DATABASE)


@commands.command()
def demo(  # sizes: a command's flags
    *,
    once: Annotated[bool, Option("--once", help="One full cycle to the end, then exit.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON summary at the end (with --once).")] = False,
    stores: Annotated[int, Option(min=1, max=5_000, help="Stores of the local upstream.")] = 300,
    seed: Annotated[int, Option(help="Seed of the local upstream's world.")] = 1,
    failure_rate: Annotated[
        float, Option(min=0.0, max=0.9, help="Share of the local upstream's answers that fail.")
    ] = 0.0,
    upstream: Annotated[str | None, Option(help="Crawl this URL instead of the local upstream.")] = None,
    data_dir: Annotated[Path, Option(help="Holds everything: database, payloads, logs.")] = Path("storecrawl-data"),
    processes: Annotated[int, Option(min=1, max=64, help="Worker processes.")] = 2,
    slots: Annotated[int, Option(min=1, max=256, help="Tasks at once in each worker process.")] = 4,
    step_seconds: Annotated[float, Option(min=5.0, help="Wall time of four simulated hours.")] = 60.0,
) -> None:
    """Crawl a whole world on this machine: database, upstream, scheduler, workers; then stay up."""
    options = DemoOptions(
        data_dir=data_dir, stores=stores, seed=seed, upstream=upstream, failure_rate=failure_rate,
        once=once, processes=processes, slots=slots, step_seconds=step_seconds,
    )  # fmt: skip
    console = Console(stderr=as_json)
    try:
        with Screen(console, title="storecrawl", quiet=as_json) as screen:
            cycle = run_cycle(options, screen.show) if once else run_on(options, screen.show)
    except Stopped:
        raise typer.Exit(INTERRUPTED if once else 0) from None
    if cycle is not None:
        _conclude(cycle, as_json=as_json)


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
    raise typer.Exit(code)


@commands.command("migrate")
def migrate_database(
    database_url: Annotated[str, Option(envvar="DATABASE_URL", help="The database to bring up to date.")],
) -> None:
    """Bring Rolecall's and the crawler's tables of a given database up to date."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        done = [*migrate(connection), *migrate(connection, MIGRATIONS)]
    print("\n".join(done) or "nothing to do")


def _conclude(cycle: Cycle, *, as_json: bool) -> None:
    summary = cycle.figures.summary(cycle.seconds)
    if as_json:
        print(json.dumps(summary))
    for problem in cycle.problems:
        print(f"storecrawl: {problem}", file=sys.stderr)
    raise typer.Exit(INCOMPLETE if cycle.problems else 0)
