"""`storecrawl demo`: crawl a simulated upstream on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from rolecall import ConfigError
from rolecall.cli import complain
from storecrawl.cli.commands import NAME
from storecrawl.cli.connect import checked_address
from storecrawl.demo.options import MOST_FAILURES, DemoOptions
from storecrawl.demo.run import Cycle, StopRequested, run_cycle, run_on
from storecrawl.demo.screen import screen_for

INCOMPLETE = 1
SIGNALLED = 128


def demo(  # sizes: a command's flags
    *,
    once: Annotated[bool, Option("--once", help="Run one full cycle, then exit.")] = False,
    as_json: Annotated[bool, Option("--json", help="With --once: print one JSON summary and nothing else.")] = False,
    stores: Annotated[
        int | None, Option(min=1, max=5_000, help="Stores of the local upstream.", show_default="300")
    ] = None,
    seed: Annotated[int | None, Option(help="Seed of the local upstream's world.", show_default="1")] = None,
    failure_rate: Annotated[
        float, Option(min=0.0, max=MOST_FAILURES, help="Share of the local upstream's responses that fail.")
    ] = 0.0,
    upstream: Annotated[str | None, Option(metavar="URL", help="Crawl this instead of the local upstream.")] = None,
    database_url: Annotated[
        str | None,
        Option(
            envvar="DATABASE_URL",
            metavar="URL",
            callback=checked_address,
            help="Use this Postgres instead of the embedded one.",
        ),
    ] = None,
    data_dir: Annotated[
        Path, Option(metavar="DIR", help="The folder of database, payloads and logs; a second run in it continues.")
    ] = Path("storecrawl-data"),
    processes: Annotated[int, Option(min=1, max=64, help="Worker processes.")] = 2,
    slots: Annotated[int, Option(min=1, max=256, help="Concurrent tasks in each worker process.")] = 4,
    step_seconds: Annotated[
        float, Option(min=5.0, help="Real seconds of four simulated hours, one round of the crawl.")
    ] = 180.0,
    api: Annotated[bool, Option(help="Serve the dashboard and the API on this machine only.")] = True,
) -> None:
    """Crawl a simulated upstream on this machine, with database, workers and dashboard, until Ctrl-C.

    Exit codes: 0 complete, or stopped by a signal; 1 something is missing, which is listed; 2 invalid option;
    6 no database.
    """
    if as_json and not once:
        raise ConfigError("there is no summary without --once", variable="--json")
    options = DemoOptions(
        data_dir=data_dir, stores=stores, seed=seed, upstream=upstream, database=database_url,
        failure_rate=failure_rate, once=once, processes=processes, slots=slots, step_seconds=step_seconds, api=api,
    )  # fmt: skip
    raise Exit(_demo_once(options, as_json=as_json) if once else _demo_on(options))


def _demo_once(options: DemoOptions, *, as_json: bool) -> int:
    try:
        with screen_for(options, quiet=as_json) as screen:
            cycle = run_cycle(options, screen)
    except StopRequested as end:
        return SIGNALLED + end.number
    print(json.dumps(cycle.summary()) if as_json else _summary(cycle))
    if cycle.api and not as_json and sys.stdout.isatty():
        print("The dashboard has stopped with the cycle; without --once, both run until Ctrl-C.")
    for problem in cycle.problems:
        complain(NAME, problem, INCOMPLETE)
    return INCOMPLETE if cycle.problems else 0


def _demo_on(options: DemoOptions) -> int:
    try:
        with screen_for(options, quiet=False) as screen:
            run_on(options, screen)
    except StopRequested:
        print(f"Stopped. All data is in {options.data_dir}; the next demo there continues.")
    return 0


def _summary(cycle: Cycle) -> str:
    figures = cycle.figures
    return (
        f"{figures.stores:,} stores, {figures.payloads:,} payloads, {figures.products:,} products with"
        f" {figures.variants:,} variants, {figures.snapshots:,} snapshots; {figures.ended_tasks:,} tasks,"
        f" {figures.failed_tasks:,} of them failed; {cycle.seconds:.1f} seconds"
    )
