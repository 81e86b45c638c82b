"""`storecrawl verify`: compare products, options and history with the payload files that they come from."""

from __future__ import annotations

import asyncio
from typing import Annotated

from typer import Exit, Option

from rolecall.cli import print_json
from storecrawl.catalog import Comparison, StoredPayload, stores_with_payloads
from storecrawl.catalog.normalize import Menu
from storecrawl.catalog.verification import verify_store
from storecrawl.cli.comparisons import print_comparison
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.payloads import PayloadStore
from storecrawl.platforms.menus import read_menu
from storecrawl.settings import CrawlSettings

SIDES = ("stored", "recomputed")
# The rows of a store belong to one moment, while the crawler goes on.
SNAPSHOT = "set transaction isolation level repeatable read, read only"


def verify(
    *,
    store: Annotated[int | None, Option(min=1, help="Only this store.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Recompute products, options and history from the payload files; exit 1 if anything differs."""
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    files, threshold = home.payloads, CrawlSettings.from_environment().miss_threshold
    found = home.query(lambda connection: _verify(connection, files, threshold, store))
    if as_json:
        print_json(found)
    else:
        compared = f"{found.differences.compared:,} values of {found.payloads:,} payloads of {found.stores:,} stores"
        print_comparison(found, SIDES, f"{compared}: 0 differences")
    raise Exit(int(found.has_problems))


async def _verify(connection: Connection, files: PayloadStore, threshold: int, store: int | None) -> Comparison:
    async def read(payload: StoredPayload) -> Menu:
        return await asyncio.to_thread(read_menu, files, payload)

    found = Comparison()
    for store_id in await stores_with_payloads(connection, store_id=store):
        async with connection.transaction():
            await connection.execute(SNAPSHOT)
            found.add(await verify_store(connection, read, store_id, threshold))
    return found
