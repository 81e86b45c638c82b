"""`storecrawl export`: write prices or products to a file."""

from __future__ import annotations

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from rolecall import ConfigError
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.lake.export import Subject, export_csv, export_parquet
from storecrawl.lake.extra import require_lake
from storecrawl.lake.rows import RowFilter

DAY = ["%Y-%m-%d"]


class Format(StrEnum):
    """The formats of files."""

    PARQUET = "parquet"
    CSV = "csv"


def export_rows(  # sizes: a command's flags
    subject: Annotated[Subject, Argument(help="The rows: prices of each option by day, or products as they are now.")],
    *,
    file_format: Annotated[Format, Option("--format", help="The format; parquet needs --output.")] = Format.CSV,
    output: Annotated[
        Path | None, Option(metavar="FILE", help="The file, which is replaced when it is complete; else stdout.")
    ] = None,
    since: Annotated[
        datetime | None, Option(formats=DAY, help="The first UTC day: of prices, or of a product's last change.")
    ] = None,
    until: Annotated[datetime | None, Option(formats=DAY, help="The last UTC day, included.")] = None,
    store: Annotated[int | None, Option(min=1, help="Only this store.")] = None,
    platform: Annotated[str | None, Option(help="Only stores of this platform.")] = None,
    state: Annotated[str | None, Option(help="Only stores in this state.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Export rows of the database as they are read, whatever their number."""
    criteria = RowFilter(
        since=since and since.date(), until=until and until.date(), store=store, platform=platform, state=state
    )
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    if file_format is Format.PARQUET:
        require_lake("--format parquet")
        if output is None:
            raise ConfigError("--format parquet needs a file", variable="--output")
    if output is None:
        home.query(lambda connection: export_csv(connection, subject, criteria, sys.stdout.buffer))
        return
    partial = output.with_name(f"{output.name}.partial")
    try:
        home.query(lambda connection: _export(connection, subject, criteria, partial, file_format))
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)


async def _export(
    connection: Connection, subject: Subject, criteria: RowFilter, file: Path, file_format: Format
) -> None:
    if file_format is Format.PARQUET:
        await export_parquet(connection, subject, criteria, file)
        return
    with file.open("wb") as stream:
        await export_csv(connection, subject, criteria, stream)
