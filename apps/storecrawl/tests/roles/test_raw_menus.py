"""Responses are stored unchanged before validation; invalid members are recorded in rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import psycopg
import pytest
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.dutchie import menu_of
from storecrawl.platforms.raw_pages import RawPage, read_raw_pages
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from apps.storecrawl.tests.menu_server import STORE, MenuServer, menu_server, page, product
from apps.storecrawl.tests.payload_files import document_of
from rolecall import NewTask
from tests.web.doors import unguarded

from .conftest import Crawl

FETCH = NewTask(handler="payload_fetch", payload={"store_id": 1}, key="store:1")
LAST = "select state::text, error from rolecall.all_tasks where handler = %s order by id desc limit 1"
DEEP = "[" * 200_000 + "]" * 200_000


@pytest.fixture
async def server() -> AsyncIterator[MenuServer]:
    async with menu_server() as running:
        yield running


@pytest.fixture
def single(settings: CrawlSettings, database: str, connection: psycopg.Connection[Any], server: MenuServer) -> Crawl:
    """A crawl of the menu server's only store, without retries."""
    crawl = Crawl(
        replace(settings, platforms={"dutchie": PlatformSettings(upstream=server.url)}, retry_first=30.0),
        database,
        connection,
    )
    crawl.rows(
        "insert into storecrawl.stores (platform, platform_store_id, name) values ('dutchie', %s, 'Sun') returning id",
        STORE,
    )
    return crawl


def raw_pages(crawl: Crawl, where: str = "true") -> dict[int, list[RawPage]]:
    rows = crawl.rows(f"select store_id, storage_path from storecrawl.raw_menus where {where} order by id")
    root = crawl.settings.data_dir / "payloads"
    return {store: list(read_raw_pages([document_of(root, path)])) for store, path in rows}


def test_every_payload_document_can_be_rebuilt_from_its_raw_responses(crawled: Crawl) -> None:
    rows = crawled.rows(
        "select raw.store_id, platform_store_id, payload.storage_path from storecrawl.payloads as payload"
        " join storecrawl.raw_menus as raw on raw.payload_id = payload.id"
        " join storecrawl.stores on stores.id = raw.store_id"
    )
    assert len(rows) == 5
    answers, root = raw_pages(crawled), crawled.settings.data_dir / "payloads"
    for store, platform_id, path in rows:
        document = msgspec.json.decode(document_of(root, path))
        again = msgspec.json.decode(msgspec.json.encode(menu_of(platform_id, 100, answers[store]).document()))
        assert again == document


def test_every_product_for_sale_is_in_the_catalog(crawled: Crawl, upstream: LocalUpstream) -> None:
    world = World(upstream.options)
    known = dict(crawled.rows(
        "select platform_store_id, array_agg(external_id) from storecrawl.products"
        " join storecrawl.stores on stores.id = store_id group by 1"
    ))  # fmt: skip
    assert {store: set(ids) for store, ids in known.items()} == {
        store["id"]: world.offered_products(store["id"], 0) for store in world.stores({})
    }
    kinds = {each.part for pages in raw_pages(crawled).values() for each in pages}
    assert kinds == {f"{name} {mode}" for name in ("rec", "med") for mode in ("shown", "full")}


def test_product_not_for_patients_has_no_medical_price_in_the_catalog(crawled: Crawl) -> None:
    """The upstream's price of zero is not replaced with that of the other list."""
    priced = crawled.rows(
        "select coalesce(rec_only, false), count(price_rec_cents) > 0, count(price_med_cents) > 0, count(special_med_cents) > 0"
        " from storecrawl.products join storecrawl.variants on product_id = products.id group by 1 order by 1"
    )
    assert [(rec_only, rec, med) for rec_only, rec, med, _ in priced] == [(False, True, True), (True, True, False)]
    assert priced[1][3] is False


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"[" * 40, "incomplete response (HTTP 200): it is cut after 40 bytes"),
        (DEEP.encode(), "the response cannot be read: it is nested too deeply"),
        (b'{"data": {"filteredProducts": {"items": []}}}', "has no list of products"),
        (page(product("a"), total=100), "the menu is cut: the upstream served 1 products but counts 100"),
        (b'{"data": null, "errors": [{"message": "over here"}]}', "error of the upstream: over here"),
        (b"\xff\xfe\x00", "the response cannot be read"),
    ],
)
async def test_rejected_response_is_stored_unchanged_with_the_reason(
    single: Crawl, server: MenuServer, body: bytes, says: str
) -> None:
    server.body = body

    await single.run(FETCH)

    [(payload, problem)] = single.rows("select payload_id, problem from storecrawl.raw_menus")
    state, error = single.rows(LAST, "payload_fetch")[0]
    assert (payload, state, says in problem, says in error) == (None, "pending", True, True)
    assert {each.body for each in raw_pages(single)[1]} == {body}
    assert single.value("select count(*) from storecrawl.payloads") == 0


async def test_response_rejected_by_its_status_alone_is_not_stored(single: Crawl, server: MenuServer) -> None:
    server.status = 503

    await single.run(FETCH)

    [(_, error)] = single.rows(LAST, "payload_fetch")
    assert ("HTTP 503" in error, server.request_count > 0) == (True, True)
    assert single.value("select count(*) from storecrawl.raw_menus") == 0


async def test_response_of_a_bot_wall_is_not_stored(single: Crawl, server: MenuServer, upstream: LocalUpstream) -> None:
    upstream.wall_off(STORE)
    crawl = Crawl(
        replace(single.settings, platforms={"dutchie": PlatformSettings(upstream=upstream.url)}),
        single.database,
        single._connection,
    )

    await crawl.run(FETCH)

    assert crawl.value("select count(*) from storecrawl.raw_menus") == 0


async def test_only_the_newest_rejected_responses_of_a_store_are_kept(single: Crawl, server: MenuServer) -> None:
    for number in range(5):
        server.body = b'{"data": NaN}' + b" " * number
        await single.run(FETCH.options(key=f"store:{number}"))

    raw_files = single.rows("select storage_path, expired_at is null from storecrawl.raw_menus order by id")
    root: Path = single.settings.data_dir / "payloads"
    assert [is_kept for _, is_kept in raw_files] == [False, False, True, True, True]
    assert [(root / path).exists() for path, _ in raw_files] == [False, False, True, True, True]


BAD = [
    ("null", None, "it is not an object"),
    ('"a text"', None, "it is not an object"),
    ('{"_id": "1", "Name": "B", "Options": ["1g"], "Prices": [1e400]}', "1", "the number 1e400 is too large"),
    ('{"_id": "2", "Name": "B", "Options": ["1g"], "Prices": [NaN]}', "2", "NaN is not a JSON number"),
    (f'{{"_id": "3", "Name": "B", "Options": ["1g"], "x": {DEEP}}}', "3", "it is nested too deeply"),
    ('{"_id": "4", "Options": ["1g"]}', "4", "it has no name"),
]


async def test_invalid_products_are_dropped_alone_and_recorded_with_their_reasons(
    single: Crawl, server: MenuServer
) -> None:
    members = [member for member, _, _ in BAD]
    good = [product(f"g{number}") for number in range(72)]
    server.body = page(*good[:40], *members, *good[40:])

    await single.run(FETCH)

    assert single.value("select count(*) from storecrawl.products") == 72
    refusals = single.rows(
        "select external_id, option, reason from storecrawl.refusals order by external_id nulls first"
    )
    assert [(key, option) for key, option, _ in refusals] == [(key, None) for _, key, _ in BAD]
    assert all(reason in stored for (_, _, reason), (_, _, stored) in zip(BAD, refusals, strict=True))
    counted = "select refused_products, refused_options, applied_count, complete from storecrawl.payloads"
    assert single.rows(counted) == [(len(BAD), 0, 72, True)]


@pytest.mark.parametrize(
    "member", ['{"_id": "b", "Name": "Cut \\ud83d", "Options": ["1g"], "recPrices": [9], "Status": "Active"}']
)
async def test_half_a_character_damages_only_itself(single: Crawl, server: MenuServer, member: str) -> None:
    server.body = page(product("a"), member)

    await single.run(FETCH)

    assert single.rows("select name from storecrawl.products order by external_id desc limit 1") == [("Cut \ufffd",)]
    assert single.rows("select from storecrawl.refusals") == []


async def test_byte_order_mark_and_null_count_lose_only_the_count(single: Crawl, server: MenuServer) -> None:
    server.body = b"\xef\xbb\xbf" + page(product("a"), product("b")).replace(b'"totalCount": 2', b'"totalCount": null')

    await single.run(FETCH)

    assert single.rows("select applied_count, complete from storecrawl.payloads") == [(2, False)]


async def test_rejected_option_is_recorded_and_counted_too(single: Crawl, server: MenuServer) -> None:
    server.body = page(product("a", Options=["1g", "1g", "2g"], recPrices=[1, 2, 3]))

    await single.run(FETCH)

    refusals = "select external_id, option, reason from storecrawl.refusals"
    assert single.rows(refusals) == [("a", "1g", "the option occurs twice; the first was kept")]
    assert single.rows("select refused_products, refused_options from storecrawl.payloads") == [(0, 1)]
    report = single.value("select result from rolecall.all_tasks where handler = 'product_refresh'")
    assert (report["refused"], report["refused_options"]) == (0, 1)


async def test_unusable_document_has_its_refusals_too(single: Crawl, server: MenuServer) -> None:
    server.body = page(product("a", Name=""), product("b", Options=7))

    await single.run(FETCH)

    assert single.rows(LAST, "product_refresh")[0][0] == "failed"
    assert single.rows("select external_id, reason from storecrawl.refusals order by id") == [
        ("a", "it has no name"),
        ("b", "Options is not a list"),
    ]
    assert single.rows("select refused_products, applied_at from storecrawl.payloads") == [(2, None)]


async def test_refusals_of_a_replayed_payload_are_replaced_by_the_current_ones(
    single: Crawl, server: MenuServer
) -> None:
    server.body = page(product("a"), product("b", Name=""))
    await single.run(FETCH)
    single.rows("update storecrawl.refusals set reason = 'an old reason' returning id")

    await single.run(NewTask(handler="product_refresh", payload={"payload_id": 1}))

    assert single.rows("select reason from storecrawl.refusals") == [("it has no name",)]


async def test_temporarily_unreadable_product_is_not_missed(single: Crawl, server: MenuServer) -> None:
    server.body = page(product("a"), product("b"))
    await single.run(FETCH)
    server.body = page(product("a"), '{"_id": "b", "Name": "B", "Options": ["1g"], "Prices": [NaN]}')
    await single.run(FETCH)

    misses = "select external_id, consecutive_misses, availability::text from storecrawl.products order by 1"
    assert single.rows(misses) == [("a", 0, "in_stock"), ("b", 0, "in_stock")]


async def test_api_lists_refusals_and_returns_the_raw_response(single: Crawl, server: MenuServer) -> None:
    server.body = page(product("a"), "null", product("b", Name=""))
    await single.run(FETCH)

    application = unguarded(single.database, single.app)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as http,
    ):
        refusals = (await http.get("/api/payloads/1/refusals")).json()["items"]
        raw_menu = (await http.get("/api/payloads/1")).json()["raw_menu_id"]
        answer = await http.get(f"/api/raw-menus/{raw_menu}/pages/0")

    assert {(each["external_id"], each["reason"]) for each in refusals} == {
        (None, "it is not an object"),
        ("b", "it has no name"),
    }
    assert answer.content == server.body
