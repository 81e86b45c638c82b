"""A worker process that dies, as by kill -9, at a given point of a task of the pipeline."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
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
from storecrawl.storage import Storage
from storecrawl.storage.locate import open_storage

from apps.storecrawl.tests.discovered import Discovered, discovering, quiet_port
from rolecall import App, Client, NewTask, WorkerOptions
from rolecall.testing import TestServer, drain, working

KILLED = 137
LEASE_SECONDS = 1.0
ONE_STORE = UpstreamOptions(stores=1, menu_smallest=20, menu_median=30, menu_largest=40)
# After the payload's files are written, before its row, its follow-up and the completion commit.
BEFORE_COMMIT = "mid_handler"

# A fetch stores two files: the menu, and the unchanged response.
MENU_FILES = """
select array_agg(storage_path)
from (select storage_path from storecrawl.payloads union all select storage_path from storecrawl.raw_menus) as kept
"""
SWEPT = "select (result ->> 'removed')::int from rolecall.all_tasks where handler = 'orphan_sweep'"
DISCOVERY_FILES = "select array_agg(storage_path) from storecrawl.discovery_payloads"
PAYLOADS = "select count(*) from storecrawl.payloads"
PAYLOADS_WITHOUT_ONE_REFRESH = """
select count(*) from storecrawl.payloads as payload where 1 <> (
    select count(*) from rolecall.all_tasks
    where handler = 'product_refresh' and (all_tasks.payload ->> 'payload_id')::bigint = payload.id
)
"""
UNFINISHED = "select count(*) from rolecall.all_tasks where state <> 'completed'"
SNAPSHOTS_TOO_MANY = "select count(*) - count(distinct (payload_id, product_id)) from storecrawl.captured_products"


class Crawl:
    def __init__(self, app: App, settings: CrawlSettings, connection: psycopg.Connection[Any], dsn: str) -> None:
        self.app = app
        self.storage = open_storage(settings.store, settings.data_dir, "payloads")
        self._settings = settings
        self._connection = connection
        self._dsn = dsn
        ensure_direct(connection)

    def value(self, query: str) -> Any:
        row = self._connection.execute(query.encode()).fetchone()
        return row[0] if row else None

    def enqueue(self, task: NewTask) -> None:
        with Client(self._dsn, app=self.app) as client:
            client.enqueue_many([task])

    def crash(self, role: str, place: str) -> int:
        """Run a worker of one role that dies at this point; return its exit code."""
        flags = ["--app", "storecrawl.app:app", "--roles", role, "--database-url", self._dsn]
        return subprocess.run(
            [sys.executable, "-m", "rolecall", "worker", *flags],
            env={**os.environ, **self._settings.to_environment(), "ROLECALL_FAILPOINT": place},
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode

    async def recover(self) -> None:
        """Finish all tasks with a worker that rescues those of the dead one."""
        options = WorkerOptions(slots=4, poll_interval=0.2)
        async with working(self.app, self._dsn, options):
            while self.value("select count(*) from rolecall.tasks"):
                await asyncio.sleep(0.05)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("bucket_url") if getattr(request, "param", None) == "bucket" else ""


@pytest.fixture(scope="session")
def world() -> UpstreamOptions:
    """The world of all tests, at the same port, because menus contain addresses of images."""
    return replace(ONE_STORE, port=quiet_port())


@pytest.fixture(scope="session")
def discovered(
    postgres_server: TestServer, world: UpstreamOptions, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Discovered]:
    folder = tmp_path_factory.mktemp("discovered")

    async def discover(database: str, connection: psycopg.Connection[Any]) -> None:
        async with LocalUpstream(world) as upstream:
            settings = settings_for(upstream, folder, store="")
            crawl = Crawl(build_app(settings), settings, connection, database)
            crawl.enqueue(NewTask(handler="store_discovery"))
            await drain(crawl.app, database, timeout=150.0)

    with discovering(postgres_server, folder, discover) as found:
        yield found


@pytest.fixture
async def upstream(world: UpstreamOptions) -> AsyncIterator[LocalUpstream]:
    async with LocalUpstream(world) as upstream:
        yield upstream


@pytest.fixture
async def crawl(
    tmp_path: Path, store: str, upstream: LocalUpstream, discovered: Discovered, postgres_server: TestServer
) -> AsyncIterator[Crawl]:
    """A crawl that has discovered its store, and has its files in a folder or in a bucket."""
    settings = settings_for(upstream, tmp_path, store)
    with discovered.copied(postgres_server, tmp_path) as (database, connection):
        crawl = Crawl(build_app(settings), settings, connection, database)
        if store:
            _move_files(tmp_path / "payloads", crawl.storage)
        yield crawl


def _move_files(root: Path, storage: Storage) -> None:
    for file in [path for path in root.rglob("*") if path.is_file()]:
        storage.put(file.relative_to(root).as_posix(), file.read_bytes())
        file.unlink()


def settings_for(upstream: LocalUpstream, folder: Path, store: str) -> CrawlSettings:
    return CrawlSettings(
        platforms={"dutchie": PlatformSettings(upstream=upstream.url)},
        data_dir=folder,
        store=store,
        orphan_age=0.001,
        page_pause=0.001,
        host_rate=1000.0,
        store_rate=1000.0,
        retry_first=0.1,
        lease=LEASE_SECONDS,
        schedules=False,
    )


@pytest.mark.parametrize("store", ["folder", "bucket"], indirect=True)
async def test_crash_between_payload_files_and_row_leaves_one_row_and_one_refresh(
    crawl: Crawl, upstream: LocalUpstream
) -> None:
    upstream.advance()
    crawl.enqueue(_fetch(crawl))

    assert crawl.crash("payload_fetch", BEFORE_COMMIT) == KILLED
    assert (len(_files(crawl)), crawl.value(PAYLOADS)) == (4, 1)
    await crawl.recover()

    assert crawl.value(PAYLOADS) == 2
    assert crawl.value(PAYLOADS_WITHOUT_ONE_REFRESH) == 0
    assert crawl.value(UNFINISHED) == 0


@pytest.mark.parametrize("store", ["folder", "bucket"], indirect=True)
async def test_only_files_orphaned_by_a_crash_are_swept(crawl: Crawl, upstream: LocalUpstream) -> None:
    upstream.advance()
    crawl.enqueue(_fetch(crawl))
    crawl.crash("payload_fetch", BEFORE_COMMIT)
    upstream.advance()  # otherwise, the next attempt uses the files
    await crawl.recover()
    named = set(crawl.value(MENU_FILES))
    assert len(_files(crawl) - named) == 2
    answers = _answers(crawl)

    crawl.enqueue(NewTask(handler="orphan_sweep"))
    await crawl.recover()

    assert crawl.value(SWEPT) == 2
    assert _files(crawl) == named
    assert _answers(crawl) == answers == set(crawl.value(DISCOVERY_FILES))


@pytest.mark.parametrize(
    ("handler", "place"),
    [
        ("store_discovery", BEFORE_COMMIT),
        ("payload_fetch", "after_claim"),
        ("product_refresh", "after_claim"),
        ("product_refresh", BEFORE_COMMIT),
        ("product_resync", BEFORE_COMMIT),
        ("analytics_refresh", BEFORE_COMMIT),
    ],
)
async def test_crash_at_any_point_loses_nothing_and_duplicates_nothing(crawl: Crawl, handler: str, place: str) -> None:
    fetches = handler in {"payload_fetch", "product_resync"}
    crawl.enqueue(_task(crawl, handler))

    assert crawl.crash(handler, place) == KILLED
    await crawl.recover()

    assert crawl.value(UNFINISHED) == 0
    assert crawl.value(PAYLOADS) == (2 if fetches else 1)
    assert crawl.value(SNAPSHOTS_TOO_MANY) == 0
    if handler != "product_refresh":
        assert crawl.value(PAYLOADS_WITHOUT_ONE_REFRESH) == 0


def _fetch(crawl: Crawl) -> NewTask:
    return _task(crawl, "payload_fetch")


def _task(crawl: Crawl, handler: str) -> NewTask:
    store = {"store_id": crawl.value("select id from storecrawl.stores")}
    payloads: dict[str, dict[str, object]] = {
        "payload_fetch": store,
        "product_resync": store,
        "product_refresh": store | {"payload_id": crawl.value("select id from storecrawl.payloads")},
    }
    return NewTask(handler=handler, payload=payloads.get(handler, {}))


def _files(crawl: Crawl) -> set[str]:
    return {each.path for each in crawl.storage.list() if each.path.startswith("store_")}


def _answers(crawl: Crawl) -> set[str]:
    return {each.path for each in crawl.storage.list() if "/discovery_" in each.path}
