"""Route counts after errors and with several worker processes."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

import pytest
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.egress import Egress, EgressOptions, Recorder
from storecrawl.egress.counters import Counters
from storecrawl.platforms.dutchie import UpstreamClient

from tests.servers import bouncing

from .conftest import Book

REPORTS = """
import asyncio, json, sys
from storecrawl.egress import EgressOptions, Recorder
from storecrawl.egress.counters import Counters

async def main(dsn, routes, rounds):
    recorder, counters = Recorder(dsn), Counters()
    for _ in range(rounds):
        for route in routes:
            counters.count_success(route, recovered=True)
            counters.count_failure(route, "no answer")
        await recorder.report(counters.take(), EgressOptions())
    await recorder.close()

asyncio.run(main(*json.loads(sys.argv[1])))
"""


async def test_counts_are_recorded_behind_a_pooler_too(database: str, book: Book) -> None:
    route, counters = book.add(), Counters()
    counters.count_success(route, recovered=True)

    with bouncing(database) as bouncer:
        recorder = Recorder(bouncer.through(database))
        await recorder.report(counters.take(), EgressOptions())
        waits = [await recorder.take_turns("menus.example", 1, 60.0) for _ in range(2)]
        await recorder.close()

    assert book.route(route)["successes"] == 1
    assert waits[0] < waits[1]


@pytest.mark.parametrize("reload_every", [0.02, 60.0])
async def test_unexpected_error_is_logged_once_and_loses_no_count(
    upstream: LocalUpstream, book: Book, make_client: Any, eventually: Any, caplog: Any, reload_every: float
) -> None:
    caplog.set_level(logging.WARNING, logger="storecrawl.egress")
    route, client = book.add(), await make_client(upstream.url, reload_every=reload_every)
    await client.stores()
    await eventually(lambda: book.route(route)["successes"] == 1)

    # Not on this event loop: the egress may hold a lock on the table in a transaction that ends there.
    await asyncio.to_thread(book.connection.execute, "alter table storecrawl.routes rename to away")
    await client.stores()
    await eventually(lambda: caplog.records)
    await client.stores()
    await asyncio.to_thread(book.connection.execute, "alter table storecrawl.away rename to routes")

    await eventually(lambda: book.route(route)["successes"] == 3)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(set(messages))
    assert all("The egress cannot update its routes" in each for each in messages)


async def test_concurrent_processes_lose_no_counts(database: str, book: Book) -> None:
    routes = [book.add(protocol="http", host=f"10.0.0.{number}", port=1) for number in range(3)]

    codes = await asyncio.gather(*(_run_reporter(database, order, 100) for order in (routes, routes[::-1])))

    assert codes == [0, 0]
    counted = [(book.route(route)["successes"], book.route(route)["failures"]) for route in routes]
    assert counted == [(200, 200)] * 3


async def test_closing_an_egress_records_its_counts(upstream: LocalUpstream, book: Book, database: str) -> None:
    route = book.add()

    async with Egress(EgressOptions(report_every=3600.0), recorder=Recorder(database)) as egress:
        await UpstreamClient(upstream.url, egress=egress).stores()
        assert book.route(route)["successes"] == 0

    assert book.route(route)["successes"] == 1


async def _run_reporter(database: str, routes: list[int], rounds: int) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", REPORTS, json.dumps([database, routes, rounds])
    )
    return await process.wait()
