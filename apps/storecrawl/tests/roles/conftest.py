"""A small world to crawl: a local upstream, a database, and the app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.egress.repository import ensure_direct
from storecrawl.settings import CrawlSettings

from rolecall import App, Client, NewTask
from rolecall.testing import drain

SMALL_WORLD = UpstreamOptions(stores=5, menu_smallest=20, menu_median=30, menu_largest=60)


@pytest.fixture
async def upstream() -> AsyncIterator[LocalUpstream]:
    async with LocalUpstream(SMALL_WORLD) as running:
        yield running


@pytest.fixture
def settings(upstream: LocalUpstream, tmp_path: Path) -> CrawlSettings:
    return CrawlSettings(
        upstream=upstream.url,
        data_dir=tmp_path,
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
