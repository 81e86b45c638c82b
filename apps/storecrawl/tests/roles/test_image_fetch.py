"""A crawl with images: fetched after a refresh and stored once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from storecrawl.storage.locate import open_storage

from rolecall import NewTask

KEPT = "select count(*) from storecrawl.images where path is not null"
NAMED = "select count(distinct image_url) from storecrawl.products where image_url is not null"
FETCHED = "select sum((result ->> 'kept')::int)::int from rolecall.all_tasks where handler = 'image_fetch'"


@pytest.fixture
async def image_crawl(crawl_with: Callable[..., Any]) -> Any:
    crawl = crawl_with(images=True, image_networks=("127.0.0.1/32",))
    await crawl.run(NewTask(handler="store_discovery"))
    return crawl


async def test_image_shared_by_many_products_is_fetched_once(image_crawl: Any) -> None:
    files = list(open_storage("", image_crawl.settings.data_dir, "images").list())

    assert 0 < image_crawl.value(NAMED) == image_crawl.value(KEPT) == image_crawl.value(FETCHED) == len(files)
    assert {each.path for each in files} == {path for (path,) in image_crawl.rows("select path from storecrawl.images")}


async def test_stored_image_is_not_fetched_again(image_crawl: Any) -> None:
    before = image_crawl.value("select count(*) from rolecall.all_tasks where handler = 'image_fetch'")

    await image_crawl.run(NewTask(handler="payload_fetch_all"))

    assert image_crawl.value("select count(*) from rolecall.all_tasks where handler = 'image_fetch'") == before
    assert image_crawl.value(KEPT) == image_crawl.value(NAMED)


async def test_disallowed_address_fails_the_image_and_not_the_task(crawl_with: Callable[..., Any]) -> None:
    crawl = crawl_with(images=True)
    await crawl.run(NewTask(handler="store_discovery"))

    assert crawl.value(KEPT) == 0
    assert crawl.rows("select distinct problem, due_at from storecrawl.images") == [("its address is not public", None)]
    assert crawl.value("select count(*) from rolecall.all_tasks where state = 'failed'") == 0


def test_no_image_is_requested_without_the_setting(crawled: Any) -> None:
    assert crawled.value("select count(*) from storecrawl.images") == 0
