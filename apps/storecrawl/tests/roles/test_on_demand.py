"""What is crawled again, and what is asked for by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from storecrawl.roles.entry_point_discovery import slug_of

from rolecall import NewTask

DISCOVER = NewTask(handler="store_discovery")
FETCH_ALL = NewTask(handler="payload_fetch_all")


async def test_stores_that_are_due_are_fetched_again(crawl_with: Callable[..., Any]) -> None:
    """Covers SPEC 001-9: one fetch for each store that needs a crawl."""
    crawl = crawl_with(fetch_every=0.001)
    await crawl.run(DISCOVER)

    await crawl.run(FETCH_ALL)

    fetched = "select count(*) from rolecall.all_tasks where handler = 'payload_fetch' and state = 'completed'"
    assert crawl.value(fetched) == 5
    assert crawl.value("select count(*) from storecrawl.payloads where applied_at is not null") == 10


async def test_stores_that_were_just_fetched_are_left_alone(crawl: Any) -> None:
    """Covers SPEC 000-23 as 001 settles it: every store every four hours, not more."""
    await crawl.run(DISCOVER)

    await crawl.run(FETCH_ALL)

    assert crawl.value("select count(*) from rolecall.all_tasks where handler = 'payload_fetch'") == 0


async def test_a_store_with_an_open_task_is_not_enqueued_again(crawl_with: Callable[..., Any]) -> None:
    crawl = crawl_with(fetch_every=0.001)
    await crawl.run(DISCOVER)
    busy = crawl.value("select min(id) from storecrawl.stores")
    crawl.enqueue(NewTask(handler="product_refresh", payload={"payload_id": 1}, key=f"store:{busy}", after=3600))

    await crawl.run(FETCH_ALL)

    assert crawl.value("select result from rolecall.all_tasks where handler = 'payload_fetch_all'")["enqueued"] == 4


async def test_the_older_name_of_the_regular_crawl_still_crawls(crawl: Any) -> None:
    """Covers the contradiction of SPEC 000 and 001: product_resync enqueues payload_fetch."""
    await crawl.run(DISCOVER)
    store = crawl.value("select min(id) from storecrawl.stores")

    await crawl.run(NewTask(handler="product_resync", payload={"store_id": store}))

    assert crawl.value("select count(*) from storecrawl.payloads where store_id = %s", store) == 2


async def test_a_store_that_is_not_to_be_crawled_is_cancelled_with_the_reason(crawl: Any) -> None:
    await crawl.run(NewTask(handler="payload_fetch", payload={"store_id": 404}))

    state, error = crawl.rows("select state::text, error from rolecall.all_tasks")[0]
    assert state == "cancelled"
    assert "store 404" in error


async def test_a_store_known_by_its_menu_address_is_found_and_crawled(crawl: Any) -> None:
    """Covers SPEC 000-4, 001-17: entry_point_discovery on demand."""
    await crawl.run(DISCOVER)
    slug = crawl.value("select slug from storecrawl.stores limit 1")

    entry = f"https://menus.example/dispensary/{slug}"
    await crawl.run(NewTask(handler="entry_point_discovery", payload={"entry": entry}))

    found = "select state::text from rolecall.all_tasks where handler = 'entry_point_discovery'"
    assert crawl.value(found) == "completed"


@pytest.mark.parametrize(
    ("entry", "slug"),
    [
        ("green-door", "green-door"),
        ("https://menus.example/dispensary/green-door", "green-door"),
        ("https://menus.example/embedded-menu/green-door/products?x=1", "green-door"),
        ("https://menus.example/stores/Green-Door", "Green-Door"),
        ("https://menus.example/about/us", None),
        ("", None),
    ],
)
def test_the_slug_within_a_menu_address_is_read(entry: str, slug: str | None) -> None:
    """Covers SPEC C2-9."""
    assert slug_of(entry) == slug
