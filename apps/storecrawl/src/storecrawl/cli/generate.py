"""`storecrawl generate`: create tasks for many stores."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Annotated

import msgspec
from typer import Option, echo

from rolecall import App, AsyncClient, ConfigError
from rolecall.cli import plain_typer
from storecrawl.actions.new_tasks import BATCHES, Generated, resync
from storecrawl.app import build_app
from storecrawl.catalog import crawlable_stores
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.settings import CrawlSettings

generate = plain_typer("Tasks for many stores at once.")


@generate.command("resync")
def resync_stores(
    *,
    batches: Annotated[int, Option(min=1, max=1_440, help="The number of batches of the day.")] = BATCHES,
    day: Annotated[
        str | None, Option("--date", metavar="YYYY-MM-DD", help="The day, in UTC; by default today.")
    ] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Enqueue a resync of each store that may be crawled, spread evenly over a day, once per day."""
    home, chosen = CrawlHome(data_dir=data_dir, database_url=database_url), _day(day)
    app = build_app(CrawlSettings.from_environment())
    generated = home.query(lambda connection: _resync(connection, app, chosen, batches))
    if as_json:
        echo(msgspec.json.encode({"date": chosen, **asdict(generated)}).decode())
    else:
        echo(f"{chosen}: {generated.stored:,} tasks stored, {generated.standing:,} already existed")


async def _resync(connection: Connection, app: App, day: date, batches: int) -> Generated:
    _, tasks = resync(await crawlable_stores(connection), day, batches)
    async with AsyncClient(app=app) as client:
        return Generated.of(await client.enqueue_many(tasks, connection=connection))


def _day(text: str | None) -> date:
    today = datetime.now(UTC).date()
    try:
        day = date.fromisoformat(text) if text else today
    except ValueError:
        raise ConfigError(f"{text!r} is not a date such as {today}", variable="--date", value=text) from None
    if day < today:
        raise ConfigError(f"{day} is in the past", variable="--date", value=text)
    return day
