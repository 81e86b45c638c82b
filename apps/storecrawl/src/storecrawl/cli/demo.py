"""`storecrawl demo`: crawl a simulated upstream on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from rolecall import ConfigError
from storecrawl.cli.connect import checked_address
from storecrawl.demo.options import MOST_FAILURES, DemoOptions
from storecrawl.platforms.registry import PLATFORMS


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
    platforms: Annotated[
        str, Option(metavar="NAMES", help="Platforms of the local upstream to crawl, separated by commas.")
    ] = ",".join(PLATFORMS),
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
        platforms=tuple(dict.fromkeys(name.strip() for name in platforms.split(","))),
    )  # fmt: skip
    if find_spec("graphql") is None:
        problem = "this needs the extra `demo`, for its upstream (graphql is missing): pip install 'storecrawl[demo]'"
        raise ConfigError(problem, variable="storecrawl[demo]")
    # Imported here, because it needs the extra.
    from storecrawl.cli.demo_runs import demo_on, demo_once  # noqa: PLC0415

    raise Exit(demo_once(options, as_json=as_json) if once else demo_on(options))
