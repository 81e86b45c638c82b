"""The doctor reports each trouble of a crawl within two rounds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.demo.upstream.answers import Answer
from storecrawl.egress import pool
from storecrawl.settings import CrawlSettings

from apps.storecrawl.tests.discovered import quiet_port
from rolecall import NewTask
from rolecall.testing import working

Trouble = Callable[[Any, LocalUpstream], None]
Look = Callable[[], Awaitable[list[tuple[str, str]]]]
CHALLENGE = Answer(200, b"<!doctype html><title>Just a moment...</title>", "text/html")


def renamed(*names: bytes) -> Trouble:
    def rename(answer: Answer) -> Answer:
        body = answer.body
        for name in names:
            body = body.replace(b'"%b":' % name, b'"%bV2":' % name)
        return Answer(answer.status, body)

    return lambda _, upstream: upstream.rewrite(rename)


def challenged(_: Any, upstream: LocalUpstream) -> None:
    upstream.rewrite(lambda _answer: CHALLENGE)


def cut(_: Any, upstream: LocalUpstream) -> None:
    upstream.rewrite(lambda answer: Answer(answer.status, answer.body[: len(answer.body) // 2]))


def limited(_: Any, upstream: LocalUpstream) -> None:
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.RATE_LIMITED: 1.0}, retry_after_seconds=0))


def unproxied(crawl: Any, _: LocalUpstream) -> None:
    crawl.rows("delete from storecrawl.routes returning id")
    for _number in range(3):
        crawl.rows(
            "insert into storecrawl.routes (protocol, host, port) values ('http', '127.0.0.1', %s) returning id",
            quiet_port(),
        )


def without_storage(crawl: Any, _: LocalUpstream) -> None:
    folder = crawl.settings.data_dir / "payloads"
    folder.rename(folder.with_name("aside"))
    folder.write_bytes(b"")


def vanished(crawl: Any, _: LocalUpstream) -> None:
    crawl.rows(
        "update storecrawl.stores set platform_store_id = repeat('f', 24), slug = null, menu_url = null,"
        " last_fetch_at = now() - interval '8 hours' where id = 1 returning id"
    )


TROUBLES = {
    "a renamed potency": (renamed(b"THCContent", b"THC"), "held_menus", "have lost their potency"),
    "a renamed brand": (renamed(b"brandName", b"brand"), "held_menus", "have lost their brand"),
    "renamed quantities": (renamed(b"POSMetaData", b"manualInventory"), "held_menus", "have lost their quantity"),
    "renamed prices": (renamed(b"Prices", b"recPrices", b"medicalPrices"), "failing_fetches", "SchemaDrift: "),
    "a challenge page": (challenged, "failing_fetches", "Blocked: .*HTTP 200"),
    "answers that are cut": (cut, "routes", "1 of 1 outgoing routes have no usable response: .* it is cut after"),
    "429 for all": (limited, "failing_fetches", "RateLimited: "),
    "dead proxies": (unproxied, "routes", "3 of 3 outgoing routes have no usable response: .* ConnectError"),
    "no storage": (without_storage, "storage", "the storage of the payloads cannot be used: "),
    "a store that is gone": (vanished, "stale_stores", "1 of 5 stores have had no menu for 2 rounds"),
}


@pytest.fixture
def settings(settings: CrawlSettings, monkeypatch: pytest.MonkeyPatch) -> CrawlSettings:
    """Hosts and routes that do not respond are tried again soon, so that workers stop soon."""
    monkeypatch.setattr(pool, "FIRST_REST", 0.01)
    monkeypatch.setattr(pool, "LONGEST_REST", 0.05)
    return replace(settings, breaker_seconds=0.05)


@pytest.fixture
async def look(crawled: Any) -> AsyncIterator[Look]:
    """Run all checks of the crawler, and return their names and the problems found."""
    async with await psycopg.AsyncConnection.connect(crawled.database, autocommit=True) as connection:

        async def run() -> list[tuple[str, str]]:
            return [(check.name, each.problem) for check in crawled.app.checks for each in await check.look(connection)]

        yield run


@pytest.mark.parametrize("name", TROUBLES)
async def test_doctor_reports_a_trouble(crawled: Any, upstream: LocalUpstream, look: Look, name: str) -> None:
    begin, check, problem = TROUBLES[name]
    assert await look() == []
    begin(crawled, upstream)
    stores = [store for (store,) in crawled.rows("select id from storecrawl.stores order by id")]
    crawled.enqueue(*(NewTask(handler="payload_fetch", payload={"store_id": store}) for store in stores))

    async with working(crawled.app, crawled.database), asyncio.timeout(10):
        while not any(found == f"storecrawl.{check}" and re.search(problem, told) for found, told in await look()):
            await asyncio.sleep(0.1)
