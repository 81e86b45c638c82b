"""A small world to crawl: a local upstream, a database, and the app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.egress.repository import ensure_direct
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from apps.storecrawl.tests.discovered import Discovered, discovering, quiet_port
from rolecall import App, Client, NewTask
from rolecall.testing import TestServer, drain

SMALL_WORLD = UpstreamOptions(stores=5, menu_smallest=20, menu_median=30, menu_largest=60)
DISCOVER = NewTask(handler="store_discovery")


@pytest.fixture(scope="session")
def world() -> UpstreamOptions:
    """The world of all crawls. It is always at the same port, because menus contain addresses of images."""
    return replace(SMALL_WORLD, port=quiet_port())


@pytest.fixture
async def upstream(world: UpstreamOptions) -> AsyncIterator[LocalUpstream]:
    async with LocalUpstream(world) as running:
        yield running


@pytest.fixture
def settings(upstream: LocalUpstream, tmp_path: Path) -> CrawlSettings:
    return settings_for(upstream, tmp_path)


def settings_for(upstream: LocalUpstream, folder: Path) -> CrawlSettings:
    return CrawlSettings(
        platforms={"dutchie": PlatformSettings(upstream=upstream.url)},
        data_dir=folder,
        page_pause=0.001,
        backoff=0.01,
        retry_first=0.1,
        derive_pause=0.05,
        schedules=False,
        host_rate=1000.0,
        store_rate=1000.0,
    )


class Crawl:
    """The app with its database: enqueue, run everything, read the results."""

    def __init__(self, settings: CrawlSettings, database: str, connection: psycopg.Connection[Any]) -> None:
        self.app: App = build_app(settings)
        self.settings = settings
        self.database = database
        self._connection = connection
        ensure_direct(connection)

    def enqueue(self, *tasks: NewTask) -> list[int]:
        with Client(self.database, app=self.app) as client:
            return [task.id for task in client.enqueue_many(tasks)]

    async def run(self, *tasks: NewTask) -> None:
        self.enqueue(*tasks)
        await drain(self.app, self.database, timeout=50.0)

    async def until(self, fact: Callable[[], object]) -> None:
        async with asyncio.timeout(40.0):
            while not fact():
                await asyncio.sleep(0.02)

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode(), parameters).fetchall()

    def states(self) -> set[str]:
        """Return the states of tasks; after a slow round, the next one may be due later than a drain waits."""
        of_all = "select distinct state::text from rolecall.all_tasks"
        return {state for (state,) in self.rows(f"{of_all} where (role, state) <> ('analytics_refresh', 'pending')")}

    def empty(self, table: str) -> None:
        self._connection.execute(f"truncate {table} cascade".encode())

    def value(self, query: str, *parameters: object) -> Any:
        return self.rows(query, *parameters)[0][0]


@pytest.fixture
def crawl(settings: CrawlSettings, database: str, connection: psycopg.Connection[Any]) -> Crawl:
    return Crawl(settings, database, connection)


@pytest.fixture
def crawl_with(settings: CrawlSettings, database: str, connection: psycopg.Connection[Any]) -> Callable[..., Crawl]:
    return lambda **changes: Crawl(replace(settings, **changes), database, connection)


@pytest.fixture(scope="session")
def discovered(
    postgres_server: TestServer, world: UpstreamOptions, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Discovered]:
    """The result of the first discovery, made once for all tests that begin with it."""
    folder = tmp_path_factory.mktemp("discovered")

    async def discover(database: str, connection: psycopg.Connection[Any]) -> None:
        async with LocalUpstream(world) as upstream:
            await Crawl(settings_for(upstream, folder), database, connection).run(DISCOVER)

    with discovering(postgres_server, folder, discover) as found:
        yield found


@pytest.fixture
def crawled(postgres_server: TestServer, discovered: Discovered, settings: CrawlSettings) -> Iterator[Crawl]:
    """A crawl that has discovered all stores."""
    with discovered.copied(postgres_server, settings.data_dir) as (database, connection):
        yield Crawl(settings, database, connection)
