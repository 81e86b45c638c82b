"""A database outage loses nothing and spends no attempt."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.demo.upstream.world import World
from storecrawl.migrations import MIGRATIONS
from storecrawl.roles.postponement import Postponement
from storecrawl.settings import CrawlSettings

from rolecall import DatabaseUnavailable, EmbeddedServer, NewTask, Snooze, migrate
from rolecall.testing import working

from .conftest import Crawl

NOT_DONE = "select count(*) from rolecall.all_tasks where finished_at is null and handler = 'product_discovery'"


@pytest.fixture
async def away(tmp_path: Path, settings: CrawlSettings) -> AsyncIterator[tuple[Crawl, EmbeddedServer]]:
    with EmbeddedServer(tmp_path / "server") as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        migrate(connection)
        migrate(connection, MIGRATIONS)
        yield Crawl(replace(settings, data_dir=tmp_path / "data"), server.dsn(), connection), server


async def test_database_outage_spends_no_attempt(
    away: tuple[Crawl, EmbeddedServer], upstream: LocalUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """The server stops while menus are being fetched, and returns after handlers have given up on it."""
    crawl, server = away
    for store in World(upstream.options).stores({})[:2]:
        crawl.rows(
            "insert into storecrawl.stores (platform, platform_store_id, name) values ('dutchie', %s, 'A') returning id",
            store["id"],
        )
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.SLOW: 1.0}, slow_seconds=2.0))
    crawl.enqueue(*(NewTask(handler="product_discovery", payload={"store_id": store}) for store in (1, 2)))

    async with working(crawl.app, crawl.database):
        await crawl.until(lambda: crawl.value("select count(*) from rolecall.tasks where state = 'running'") == 2)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGQUIT)
        await _until(lambda: caplog.text.count("Snoozed: the database does not respond") >= 2)
        upstream.set_failures(FaultDial())
        await asyncio.to_thread(server.attach)
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            back = Crawl(crawl.settings, server.dsn(), connection)
            await back.until(lambda: back.value(NOT_DONE) == 0)

            ended = "select state::text, attempt, error from rolecall.all_tasks where handler = 'product_discovery'"
            assert back.rows(ended) == [("completed", 1, None)] * 2


class _StubContext:
    """The part of a context that the middleware uses."""

    class log:  # noqa: N801 - an attribute
        warning = staticmethod(lambda *_: None)


@pytest.mark.parametrize(
    ("error", "is_outage"),
    [
        (psycopg.OperationalError("the connection is lost"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.CannotConnectNow(), True),
        (psycopg.errors.TooManyConnections(), True),
        (DatabaseUnavailable("gone"), True),
        (psycopg.errors.DeadlockDetected(), False),
        (psycopg.errors.DiskFull(), False),
        (psycopg.errors.QueryCanceled(), False),
        (psycopg.errors.UniqueViolation(), False),
    ],
)
async def test_only_a_database_outage_snoozes_the_task(error: Exception, is_outage: bool) -> None:
    async def handler() -> Any:
        raise error

    call = Postponement()(_StubContext(), handler)  # type: ignore[arg-type]  # a stand-in

    if is_outage:
        assert isinstance(await call, Snooze)
    else:
        with pytest.raises(type(error)):
            await call


async def _until(fact: Any) -> None:
    async with asyncio.timeout(60.0):
        while not fact():
            await asyncio.sleep(0.05)
