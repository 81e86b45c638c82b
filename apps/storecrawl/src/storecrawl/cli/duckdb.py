"""`storecrawl duckdb`: query the Parquet lake."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

from typer import Option

from rolecall import ConfigError
from storecrawl.cli.connect import CrawlHome, DataDir
from storecrawl.lake.extra import require_lake


class Output(StrEnum):
    """The formats of results."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def query_lake(
    *,
    command: Annotated[
        str | None,
        Option("--command", "-c", metavar="SQL", help="Run this and exit, instead of a prompt or the standard input."),
    ] = None,
    output: Annotated[Output, Option("--format", help="The format of results.")] = Output.TABLE,
    data_dir: DataDir = None,
) -> None:
    """Query the lake with DuckDB: views prices, products, stores and brands.

    Needs the extra `lake`. The lake is in the folder, or in the bucket of STORECRAWL_STORE.
    """
    require_lake("storecrawl duckdb")
    # They import the packages of the extra.
    import duckdb  # noqa: PLC0415

    from storecrawl.cli import lake_prompt  # noqa: PLC0415
    from storecrawl.lake.engine import open_lake  # noqa: PLC0415

    settings = CrawlHome(data_dir=data_dir, database_url=None).settings
    show = lake_prompt.SHOWN[output.value]
    with open_lake(settings.store, settings.data_dir) as connection:
        if command is None and sys.stdin.isatty():
            lake_prompt.prompt(connection, show)
            return
        try:
            lake_prompt.run(connection, sys.stdin.read() if command is None else command, show)
        except duckdb.Error as problem:
            raise ConfigError(str(problem), variable="SQL") from None
