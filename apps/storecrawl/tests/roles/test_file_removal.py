"""Files are removed while fetches store the same content: no row is left without its file."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import begin_fetch, find_payload
from storecrawl.catalog.files import read_document
from storecrawl.platforms.dutchie import menu_of
from storecrawl.platforms.raw_pages import RawPage
from storecrawl.roles.crawler import Crawler
from storecrawl.roles.fetch_archive import ArchivedMenu, FetchArchive
from storecrawl.roles.file_removal import remove_orphans
from storecrawl.roles.store_tasks import find_store

from apps.storecrawl.tests.menu_server import page, product

from .conftest import Crawl

Connection = psycopg.AsyncConnection[Any]

STORE = 1
RESPONSE = RawPage(
    part="rec shown",
    number=0,
    status=200,
    content_type="application/json",
    body=page(product("a")),
)
WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


@pytest.fixture
async def fetching(crawled: Crawl) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(crawled.database) as connection:
        yield connection


@pytest.fixture
async def sweeping(crawled: Crawl) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(crawled.database) as connection:
        yield connection


@pytest.fixture
async def archive(crawled: Crawl, fetching: Connection) -> FetchArchive:
    store, begun = await find_store(fetching, STORE), await begin_fetch(fetching, STORE)
    await fetching.commit()
    assert store is not None
    ctx: Any = SimpleNamespace(task_id=1, attempt=1, log=logging.getLogger())
    crawler = Crawler(crawled.settings)
    return FetchArchive(ctx=ctx, crawler=crawler, store=store, begun=begun, newest=None, answers=[RESPONSE])


async def write(archive: FetchArchive) -> ArchivedMenu:
    return await archive.write(menu_of(archive.store.platform_store_id, 100, archive.answers))


async def test_file_that_is_removed_before_its_row_is_written_again(
    archive: FetchArchive, fetching: Connection, sweeping: Connection
) -> None:
    menu = await write(archive)
    paths = [menu.written.path, menu.raw.path]
    assert await remove_orphans(sweeping, archive.crawler, STORE, paths) == 2
    await sweeping.commit()

    payload = await find_payload(fetching, await archive.record(fetching, menu))

    assert read_document(archive.crawler.payloads, payload)
    assert all(archive.crawler.payloads.exists(path) for path in paths)


async def test_removal_waits_for_the_row_of_a_fetch_that_uses_the_file(
    archive: FetchArchive, fetching: Connection, sweeping: Connection, crawled: Crawl
) -> None:
    menu = await write(archive)
    payload = await find_payload(fetching, await archive.record(fetching, menu))

    paths = [menu.written.path, menu.raw.path]
    removal = asyncio.create_task(remove_orphans(sweeping, archive.crawler, STORE, paths))
    await crawled.until(lambda: crawled.value(WAITING))
    await fetching.commit()

    assert await removal == 0
    assert read_document(archive.crawler.payloads, payload)
