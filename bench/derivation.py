"""Measures the rounds that derive statistics: edits end to end, a full cycle, and what logging adds to a refresh.

Compare ratios first: the time per thousand products in a peak cycle, and the cost of a refresh with the triggers
relative to one without. Run it as `bench/derivation.py --stores 250`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table
from storecrawl.app import build_app
from storecrawl.catalog import apply_menu, record_payload
from storecrawl.catalog.normalize import Menu, normalize
from storecrawl.migrations import MIGRATIONS
from storecrawl.payloads import WrittenPayload
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from rolecall import App, Client, NewTask, WorkerOptions, migrate
from rolecall.testing import drain, working

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.processes import cpu_of_process  # noqa: E402 - this file is run as a script
from bench.server import throw_away_server  # noqa: E402

FILL = Path(__file__).with_suffix(".sql")
PRODUCTS = 400
EDITS = 10
REFRESHES = 26
LATER = datetime(2200, 1, 1, tzinfo=UTC)
OPTIONS = WorkerOptions(roles=("analytics_refresh",), slots=2, maintenance=False, poll_interval=0.2)
TRIGGERED = ("products", "variants", "payloads")
STEPS = """
select handler, count(*), sum(extract(epoch from finished_at - started_at))::float8
from rolecall.all_tasks where role = 'analytics_refresh' and handler <> 'map_stores' and parent_id is not null
group by handler order by handler
"""
BRAND = """
select brand_id from storecrawl.products join storecrawl.variants on product_id = products.id where variants.id = %s
"""
EDIT = """
update storecrawl.variants set price_rec_cents = price_rec_cents + 1, price_changes = price_changes + 1,
    price_changed_at = clock_timestamp()
where id = %s returning id
"""
CHANGES = "select price_changes from storecrawl.brand_statistics where brand_id = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """CPU seconds that Postgres spent on one refresh of 400 products."""

    unchanged: float
    a_tenth: float
    everything: float


def main(arguments: Sequence[str]) -> None:
    """Fill a temporary server, measure, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=250, help="each has 400 products of two options")
    stores: int = parser.parse_args(arguments).stores
    with throw_away_server() as server, tempfile.TemporaryDirectory() as folder:
        server.empty()
        with server.connect(server.dsn) as connection:
            migrate(connection)
            migrate(connection, MIGRATIONS)
            for statement in FILL.read_text("utf-8").split(";\n\n"):
                connection.execute(statement.encode(), {"stores": stores})
        settings = CrawlSettings(
            platforms={"dutchie": PlatformSettings(upstream="http://127.0.0.1:9")},
            data_dir=Path(folder),
            schedules=False,
            derive_pause=0.05,
        )
        asyncio.run(_measure(server.dsn, build_app(settings), stores))


async def _measure(dsn: str, app: App, stores: int) -> None:
    table = Table("what", "figure", "", box=None)
    began = time.monotonic()
    await _run(dsn, app, NewTask(handler="collect_changes"))
    peak = time.monotonic() - began
    products = stores * PRODUCTS
    table.add_row("a cycle of everything", f"{peak:.1f} s", f"{peak / products * 1e6:.0f} ms a 1,000 products")
    with psycopg.connect(dsn) as connection:
        for handler, count, seconds in connection.execute(STEPS):
            table.add_row(f"  {handler}", f"{seconds:.1f} s", f"{count} tasks")
    edits = await _edits(dsn, app)
    table.add_row(
        "an edit until its statistics say it", f"{statistics.median(edits):.2f} s", f"of {products:,} products"
    )
    without, with_triggers = await _refreshes(dsn)
    for name in Refreshed.__slots__:
        bare, logged = getattr(without, name), getattr(with_triggers, name)
        table.add_row(
            f"a refresh, {name}", f"{logged * 1000:.0f} ms CPU", f"{logged / bare:.2f} of one without triggers"
        )
    Console().print(table)


async def _run(dsn: str, app: App, task: NewTask) -> None:
    with Client(dsn, app=app) as client:
        client.enqueue_many([task])
    await drain(app, dsn, OPTIONS, timeout=3600)


async def _edits(dsn: str, app: App) -> list[float]:
    """Return the seconds from each edit's commit until a reader sees it, sequentially, with an idle worker."""
    taken = []
    async with working(app, dsn, OPTIONS), await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        for number in range(1, EDITS + 1):
            await asyncio.sleep(1)
            [brand] = await _row(connection, BRAND, number * 97)
            before = await _row(connection, CHANGES, brand)
            began = time.monotonic()
            await _row(connection, EDIT, number * 97)
            while await _row(connection, CHANGES, brand) == before:  # noqa: ASYNC110 - polls the database
                await asyncio.sleep(0.005)
            taken.append(time.monotonic() - began)
    return taken


async def _row(connection: psycopg.AsyncConnection[Any], query: str, *parameters: object) -> tuple[Any, ...]:
    row = await (await connection.execute(query.encode(), parameters)).fetchone()
    if row is None:
        raise LookupError(query)
    return tuple(row)


async def _refreshes(dsn: str) -> tuple[Refreshed, Refreshed]:
    costs: dict[bool, list[Refreshed]] = {False: [], True: []}
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        for turn, store in enumerate(range(1, REFRESHES + 1)):
            logging = bool(turn % 2)
            for table in TRIGGERED:
                change = f"alter table storecrawl.{table} {'enable' if logging else 'disable'} trigger user"
                await connection.execute(change.encode())
            costs[logging].append(await _refresh(connection, store))
    return _mean(costs[False][1:]), _mean(costs[True][1:])


async def _refresh(connection: psycopg.AsyncConnection[Any], store: int) -> Refreshed:
    """Write the menus of a store, unmeasured, and then those of three others, as the crawl does."""
    seconds = []
    for hour, menu in enumerate(_menus()):
        fetched_at = LATER + timedelta(hours=hour)
        written = WrittenPayload(path=f"{store}-{hour}", size_raw=1, size_gz=1, sha256="0" * 64)
        payload = await record_payload(
            connection, written, store_id=store, task_id=1, fetched_at=fetched_at, product_count=PRODUCTS
        )
        before = cpu_of_process(connection.info.backend_pid)
        async with connection.transaction():
            await apply_menu(connection, payload, store, fetched_at, menu)
        seconds.append(cpu_of_process(connection.info.backend_pid) - before)
    return Refreshed(unchanged=seconds[1], a_tenth=seconds[2], everything=seconds[3])


def _menus() -> Iterator[Menu]:
    for dearer in (0, 0, PRODUCTS // 10, PRODUCTS):
        records = [_record(number, 1 if number < dearer else 0, dearer) for number in range(1, PRODUCTS + 1)]
        yield normalize({"data": {"filteredProducts": {"products": records, "queryInfo": {"totalCount": PRODUCTS}}}})


def _record(number: int, more: int, dearer: int) -> dict[str, object]:
    price = 20 + number % 30 + more * dearer
    return {
        "_id": f"x{number}", "Name": f"Product {number}", "brandName": f"Brand {number % 40}", "type": "Flower",
        "Status": "Active", "Options": ["1g", "3.5g"], "recPrices": [price, price * 3],
    }  # fmt: skip


def _mean(costs: Sequence[Refreshed]) -> Refreshed:
    return Refreshed(**{name: statistics.mean(getattr(each, name) for each in costs) for name in Refreshed.__slots__})


if __name__ == "__main__":
    main(sys.argv[1:])
