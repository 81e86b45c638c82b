"""A crawl with images: fetched after a refresh, stored once, served and shown."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from PIL import Image
from storecrawl.storage.locate import open_storage

from rolecall import NewTask
from tests.web.doors import unguarded

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


async def test_due_image_is_requested_with_its_etag(image_crawl: Any) -> None:
    store = image_crawl.value("select min(store_id) from storecrawl.images")
    image_crawl.rows("update storecrawl.images set due_at = clock_timestamp() where store_id = %s returning id", store)

    await image_crawl.run(NewTask(handler="image_fetch", payload={"store_id": store}))

    result = image_crawl.value(
        "select result from rolecall.all_tasks where handler = 'image_fetch' order by id desc limit 1"
    )
    assert (result["kept"], result["failed"]) == (0, 0)
    assert result["same"] > 0


async def test_disallowed_address_fails_the_image_and_not_the_task(crawl_with: Callable[..., Any]) -> None:
    crawl = crawl_with(images=True)
    await crawl.run(NewTask(handler="store_discovery"))

    assert crawl.value(KEPT) == 0
    assert crawl.rows("select distinct problem, due_at from storecrawl.images") == [("its address is not public", None)]
    assert crawl.value("select count(*) from rolecall.all_tasks where state = 'failed'") == 0


async def test_no_image_is_requested_without_the_setting(crawl: Any) -> None:
    await crawl.run(NewTask(handler="store_discovery"))

    assert crawl.value("select count(*) from storecrawl.images") == 0


async def test_images_are_served_scaled_with_an_etag_and_shown_on_pages(image_crawl: Any) -> None:
    product, image, sha256 = image_crawl.rows(
        "select p.id, i.id, i.sha256 from storecrawl.products p join storecrawl.images i on i.url = p.image_url limit 1"
    )[0]
    application = unguarded(image_crawl.database, image_crawl.app)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as http,
    ):
        small = await http.get(f"/api/images/{image}?w=50&h=50&fit=cover&format=webp")
        again = await http.get(
            f"/api/images/{image}?w=50&h=50&fit=cover", headers={"If-None-Match": small.headers["etag"]}
        )
        whole = await http.get(f"/api/images/{image}")
        facts = (await http.get(f"/api/products/{product}/image")).json()
        page = (await http.get(f"/products/{product}")).text
        too_large = await http.get(f"/api/images/{image}?w=2001")
        unknown = await http.get("/api/images/999999")

    with Image.open(io.BytesIO(small.content)) as shown:
        assert (shown.size, shown.format, small.headers["content-type"]) == ((50, 50), "WEBP", "image/webp")
    assert (again.status_code, again.content) == (304, b"")
    assert small.headers["cache-control"] == "private, max-age=86400"
    assert (whole.headers["content-type"], whole.headers["x-content-type-options"]) == ("image/png", "nosniff")
    assert (facts["url"], facts["width"], facts["sha256"]) == (f"/api/images/{image}", 160, sha256)
    assert f'src="/api/images/{image}?w=480&amp;h=480&amp;format=webp" width="160" height="160"' in page
    assert (too_large.status_code, unknown.status_code) == (422, 404)
