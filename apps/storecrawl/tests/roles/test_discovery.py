"""Discovery from states to cities to locations, with failing cities and crashes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.demo.upstream.other_platforms import WEEDMAPS, weedmaps_stores
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.settings import PlatformSettings

from apps.storecrawl.tests.payload_files import document_of
from rolecall import NewTask, WorkerOptions
from rolecall.testing import working

KILLED = 137
NEVER_HELD_BACK = {"breaker_failures": 100_000}
STATES = ["AZ", "CO", "MI"]
DISCOVER = NewTask(handler="store_discovery", payload={"states": STATES})
OPEN = "select count(*) from rolecall.all_tasks where role = 'store_discovery' and finished_at is null"
RESULT = "select result from rolecall.all_tasks where handler = 'store_discovery' order by id desc limit 1"
DONE = (
    "select id, finished_at from rolecall.all_tasks where handler = 'discover_city' and state = 'completed' order by id"
)


@pytest.fixture
async def upstream() -> AsyncIterator[LocalUpstream]:
    async with LocalUpstream(UpstreamOptions(stores=30, menu_smallest=20, menu_median=20, menu_largest=20)) as running:
        yield running


async def test_stores_listed_for_a_state_are_crawled_at_once(crawl_with: Callable[..., Any], upstream: Any) -> None:
    place = f"{upstream.url}{WEEDMAPS}"
    weedmaps = PlatformSettings(upstream=place, own={"directory": place})
    crawl = crawl_with(platforms={"weedmaps": weedmaps})
    await crawl.run(NewTask(handler="store_discovery"))

    stores = crawl.value("select array_agg(id order by id) from storecrawl.stores")
    assert len(stores) == len(weedmaps_stores(World(upstream.options)))
    assert crawl.value(RESULT)["newStoreIds"] == stores
    assert crawl.value("select array_agg(store_id order by store_id) from storecrawl.payloads") == stores


async def test_every_city_is_crawled_and_reports_its_findings(crawl: Any) -> None:
    await _discover_only(crawl)

    assert (
        crawl.value("select array_agg(state order by state) from storecrawl.state_searches where listed_at is not null")
        == STATES
    )
    assert crawl.value("select count(*) from storecrawl.cities where crawled_at is null or failures > 0") == 0
    assert crawl.value("select sum(stores_found) = sum(stores_told) from storecrawl.cities") is True
    assert crawl.value("select count(*) from storecrawl.locations where status <> 'verified'") == 0
    assert crawl.value(RESULT)["new"] == crawl.value("select count(*) from storecrawl.stores") > 5


async def test_raw_responses_are_stored_as_files(crawl: Any) -> None:
    await _discover_only(crawl)

    rows = crawl.rows(
        "select kind, subject, record_count, storage_path, sha256, size_raw from storecrawl.discovery_payloads"
    )
    kinds = [kind for kind, *_ in rows]
    assert (kinds.count("cities"), kinds.count("stores")) == (3, crawl.value("select count(*) from storecrawl.cities"))
    root = crawl.settings.data_dir / "payloads"
    for kind, subject, count, path, sha256, size in rows:
        raw = document_of(root, path)
        assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (sha256, size)
        document = msgspec.json.decode(raw)
        assert (document["kind"], document["subject"], len(document["records"])) == (kind, subject, count)


async def test_city_without_a_response_is_reported_and_the_others_continue(
    crawl_with: Callable[..., Any], upstream: LocalUpstream
) -> None:
    async with _failing_for(upstream, "Phoenix") as url:
        crawl = crawl_with(
            platforms={"dutchie": PlatformSettings(upstream=url)}, retry_first=0.01, backoff=0.001, **NEVER_HELD_BACK
        )
        await _discover_only(crawl)

    assert crawl.value(RESULT)["failed"] == ["AZ/Phoenix"]
    [(failures, error, crawled_at)] = crawl.rows(
        "select failures, error, crawled_at from storecrawl.cities where name = 'Phoenix'"
    )
    assert (failures > 1, "503" in error, crawled_at) == (True, True, None)
    assert crawl.value("select count(*) from storecrawl.cities where crawled_at is null") == 1

    again = crawl_with()
    await _discover_only(again)

    assert again.rows("select failures, error from storecrawl.cities where name = 'Phoenix'") == [(0, None)]


async def test_discovery_without_any_response_fails_with_a_reason(crawl_with: Callable[..., Any]) -> None:
    crawl = crawl_with(
        platforms={"dutchie": PlatformSettings(upstream="http://127.0.0.1:9")},
        retry_first=0.01,
        backoff=0.001,
        **NEVER_HELD_BACK,
    )

    await _discover_only(crawl)

    [(state, error)] = crawl.rows("select state::text, error from rolecall.all_tasks where handler = 'store_discovery'")
    assert state == "failed"
    assert "there was no response for AZ, CO, MI" in error
    assert crawl.value("select count(*) from storecrawl.state_searches where failures > 1 and error is not null") == 3


async def test_crash_during_discovery_resumes_at_the_city(crawl_with: Callable[..., Any]) -> None:
    """Cities crawled before a kill -9 are not crawled again."""
    crawl = crawl_with(lease=1.0)
    crawl.enqueue(DISCOVER)

    assert _crash(crawl, "mid_handler:7") == KILLED
    done = crawl.rows(DONE)
    assert len(done) > 0
    await _finish(crawl)

    assert set(done) < set(crawl.rows(DONE))
    assert crawl.value("select count(*) from storecrawl.cities where crawled_at is null") == 0
    assert (
        crawl.value("select max(n) from (select count(*) n from storecrawl.discovery_payloads group by subject) a") == 1
    )


async def _discover_only(crawl: Any) -> None:
    crawl.enqueue(DISCOVER)
    await _finish(crawl)


async def _finish(crawl: Any) -> None:
    async with (
        asyncio.timeout(60),
        working(crawl.app, crawl.database, WorkerOptions(slots=4, poll_interval=0.1, roles=("store_discovery",))),
    ):
        while crawl.value(OPEN):
            await asyncio.sleep(0.05)


def _crash(crawl: Any, place: str) -> int:
    flags = ["--app", "storecrawl.app:app", "--roles", "store_discovery", "--database-url", crawl.database]
    return subprocess.run(
        [sys.executable, "-m", "rolecall", "worker", *flags],
        env={**os.environ, **crawl.settings.to_environment(), "ROLECALL_FAILPOINT": place},
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


@asynccontextmanager
async def _failing_for(upstream: LocalUpstream, city: str) -> AsyncIterator[str]:
    """A proxy of the upstream that does not answer requests about one city."""
    target = urlsplit(upstream.url)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(_length(head))
        if city.encode() in head + body:
            writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        else:
            writer.write(await _forward(head, body))
        await writer.drain()
        writer.close()

    async def _forward(head: bytes, body: bytes) -> bytes:
        there, back = await asyncio.open_connection(target.hostname, target.port)
        back.write(
            head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1).replace(b"Connection: keep-alive\r\n", b"") + body
        )
        answer = await there.read()
        back.close()
        return answer

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _length(head: bytes) -> int:
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(lengths[0]) if lengths else 0
