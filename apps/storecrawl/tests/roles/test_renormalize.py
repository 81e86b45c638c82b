"""`storecrawl verify` finds wrong rows of products and history, and `renormalize` corrects them as a tree of tasks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from storecrawl.demo.upstream import FaultDial, LocalUpstream
from storecrawl.roles.renormalize import renormalize_task

from rolecall import NewTask

from .conftest import Crawl

COMMAND = Path(sys.executable).with_name("storecrawl")
FETCH_ALL = [NewTask(handler="payload_fetch", payload={"store_id": store}) for store in range(1, 6)]
WRONG_BRAND = "update storecrawl.products set brand = 'Wrong' where id = %s returning id"
WRONG_PRICE = (
    "update storecrawl.price_history set price_rec_cents = 1, special_rec_cents = null"
    " where (product_id, option, from_sequence) = (select product_id, option, from_sequence"
    " from storecrawl.price_history where price_rec_cents > 1 and to_sequence = from_sequence + 1"
    " order by 1, 2, 3 limit 1) returning product_id"
)
RESULT = "select result from rolecall.all_tasks where handler = 'renormalize' order by id desc limit 1"
PRICE_CHANGES = "select sum(price_changes), max(price_changed_at) from storecrawl.variants"
CHANGES = "select max(changed_at), count(distinct changed_at) from storecrawl.products"


async def _verify(crawl: Crawl) -> tuple[int, dict[str, Any]]:
    command = [str(COMMAND), "verify", "--json", "--data-dir", str(crawl.settings.data_dir)]
    environment = {**os.environ, "DATABASE_URL": crawl.database}
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


async def test_wrong_rows_are_found_and_corrected(crawled: Crawl, upstream: LocalUpstream) -> None:
    upstream.set_failures(FaultDial(failure_rate=0.2, slow_seconds=0.01, retry_after_seconds=0))
    for _round in range(2):
        upstream.advance(1)
        await crawled.run(*FETCH_ALL)
    changes = crawled.rows(PRICE_CHANGES) + crawled.rows(CHANGES)

    code, found = await _verify(crawled)
    assert (code, found["differences"]["fields"], found["payloads"]) == (0, {}, 15)
    assert found["differences"]["compared"] > 10_000

    product = crawled.value("select min(id) from storecrawl.products")
    crawled.rows(WRONG_BRAND, product)
    crawled.rows(WRONG_PRICE)
    code, found = await _verify(crawled)
    assert code == 1
    assert found["differences"]["fields"]["products.brand"] == 1
    assert found["differences"]["fields"]["option history.price_rec_cents"] == 1

    await crawled.run(renormalize_task(since=None, store_id=None, dry_run=True))
    reported = crawled.value(RESULT)
    assert reported["differences"]["fields"]["products.brand"] == 1
    assert crawled.value("select brand from storecrawl.products where id = %s", product) == "Wrong"

    await crawled.run(renormalize_task(since=None, store_id=None, dry_run=False))
    assert crawled.value(RESULT)["differences"] == reported["differences"]
    assert (await _verify(crawled))[1]["differences"]["fields"] == {}
    assert crawled.rows(PRICE_CHANGES) + crawled.rows(CHANGES) == changes


async def test_payload_without_a_file_is_named_and_the_others_are_read(crawled: Crawl) -> None:
    (expired,) = crawled.rows("select id, store_id from storecrawl.payloads order by id limit 1")
    crawled.rows("update storecrawl.payloads set expired_at = now() where id = %s returning id", expired[0])

    await crawled.run(renormalize_task(since=None, store_id=None, dry_run=False))

    result = crawled.value(RESULT)
    assert (result["stores"], result["payloads"], result["expired"], result["failed_stores"]) == (5, 4, 1, 0)
    assert [(each["payload_id"], each["store_id"]) for each in result["unread"]] == [expired]


async def test_only_stores_of_the_given_platform_are_read_again(crawled: Crawl) -> None:
    kept = crawled.value("select min(id) from storecrawl.stores")
    crawled.rows("update storecrawl.stores set platform = 'weedmaps' where id <> %s returning id", kept)

    await crawled.run(renormalize_task(since=None, store_id=None, platform="dutchie", dry_run=True))

    children = "select (payload ->> 'store_id')::bigint from rolecall.all_tasks where handler = 'renormalize_store'"
    assert crawled.rows(children) == [(kept,)]
    assert crawled.value(RESULT)["stores"] == 1
