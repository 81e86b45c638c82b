"""A 403 for one store affects no other: the store is blocked or the route is paused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.demo.upstream.world import World

from rolecall import NewTask
from rolecall.testing import working

REFRESHED = "select count(distinct store_id) from storecrawl.payloads where applied_at is not null"
BLOCKED = "select store_id from storecrawl.blocked_stores order by 1"
TASKS = """
select state::text, attempt, error, info ->> 'held_back'
from rolecall.all_tasks where handler = 'product_discovery' and key = any(%s) order by id
"""


@pytest.fixture
def ids(upstream: LocalUpstream) -> list[str]:
    return [store["id"] for store in World(upstream.options).stores({})]


async def test_forbidden_store_is_blocked_and_all_others_are_fetched(
    crawl: Any, upstream: LocalUpstream, ids: list[str]
) -> None:
    upstream.wall_off(ids[0])

    await crawl.run(NewTask(handler="store_discovery"))

    [(walled,)] = crawl.rows("select id from storecrawl.stores where platform_store_id = %s", ids[0])
    assert crawl.value(REFRESHED) == len(ids) - 1
    assert crawl.rows(BLOCKED) == [(walled,)]
    assert crawl.rows("select active, paused_until from storecrawl.routes") == [(True, None)]
    held = "the store is blocked: blocked by the upstream (HTTP 403)"
    assert crawl.rows(TASKS, [f"store:{walled}"]) == [("pending", 0, None, held)]
    wait = "select scheduled_for - clock_timestamp() > interval '9 min' from rolecall.tasks where key = %s"
    assert crawl.value(wait, f"store:{walled}")


async def test_blocked_store_is_retried_automatically_and_unblocked(
    crawl_with: Callable[..., Any], upstream: LocalUpstream, ids: list[str]
) -> None:
    crawl = crawl_with(block_first=0.2)
    upstream.wall_off(ids[0])
    crawl.enqueue(NewTask(handler="store_discovery"))

    async with working(crawl.app, crawl.database):
        await crawl.until(lambda: crawl.rows("select from storecrawl.blocked_stores where times >= 3"))
        upstream.wall_off()
        await crawl.until(lambda: crawl.value(REFRESHED) == len(ids))

    assert crawl.rows(BLOCKED) == []


async def test_last_route_is_paused_and_resumes_when_every_store_is_forbidden(
    crawl_with: Callable[..., Any], upstream: LocalUpstream, ids: list[str]
) -> None:
    crawl = crawl_with(route_pause=0.3, block_first=0.2)
    upstream.wall_off(*ids)
    crawl.enqueue(NewTask(handler="store_discovery"))

    async with working(crawl.app, crawl.database):
        await crawl.until(lambda: crawl.value("select pauses from storecrawl.routes") > 1)
        upstream.wall_off()
        await crawl.until(lambda: crawl.value(REFRESHED) == len(ids))

    assert crawl.rows("select active, paused_until, pauses from storecrawl.routes") == [(True, None, 0)]
    assert crawl.rows(BLOCKED) == []
    assert crawl.rows("select from rolecall.all_tasks where state = 'failed'") == []


async def test_forbidden_fetch_spends_its_attempt_when_blaming_is_off(
    crawl_with: Callable[..., Any], upstream: LocalUpstream, ids: list[str]
) -> None:
    crawl = crawl_with(forbidden_limit=0, retry_first=30.0)
    upstream.wall_off(ids[0])

    await crawl.run(NewTask(handler="store_discovery"))

    [(walled,)] = crawl.rows("select id from storecrawl.stores where platform_store_id = %s", ids[0])
    [(state, attempt, error, _)] = crawl.rows(TASKS, [f"store:{walled}"])
    assert (state, attempt, "HTTP 403" in error) == ("pending", 1, True)
    assert crawl.rows(BLOCKED) == []
