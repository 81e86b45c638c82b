"""A day's resync: tasks of product_resync fetch menus themselves, so scaling and capacity count fetches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from storecrawl.actions.new_tasks import resync
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.platforms.settings import PlatformSettings

from rolecall import NewTask

DISCOVER = NewTask(handler="store_discovery")
PAUSE_SECONDS = 0.3
# A page has 100 products, and a menu of one page is fetched without a pause.
MENUS_OF_TWO_PAGES = UpstreamOptions(stores=5, menu_smallest=120, menu_median=140, menu_largest=180)
STORES = "select array_agg(id order by id) from storecrawl.stores"
TARGET = "select rolecall.scale_target('product_resync')"
FETCHED = """
select task.handler, count(distinct payload.store_id), count(*) filter (where payload.applied_at is not null)
from storecrawl.payloads as payload
join rolecall.all_tasks as task on task.id = payload.task_id
where task.handler <> 'product_discovery'
group by task.handler
"""
FOLLOWED = """
select distinct made.handler, task.handler
from rolecall.all_tasks as task
join rolecall.all_tasks as made on made.chain_id = task.chain_id and made.id <> task.id
where made.handler = 'product_resync'
"""


def resync_tasks(crawl: Any) -> list[NewTask]:
    _, tasks = resync(crawl.value(STORES), datetime.now(UTC).date(), 1)
    return tasks


async def test_resync_fetches_in_its_own_task_and_continues_with_product_refresh(crawled: Any) -> None:
    await crawled.run(*resync_tasks(crawled))

    assert crawled.rows(FETCHED) == [("product_resync", 5, 5)]
    assert crawled.rows(FOLLOWED) == [("product_resync", "product_refresh")]


async def test_scaling_target_of_resyncs_counts_pending_fetches(crawled: Any) -> None:
    """Five menus must be fetched: the target is five before, and none afterwards."""
    before = crawled.value(TARGET)

    crawled.enqueue(*resync_tasks(crawled))
    target = crawled.value(TARGET)
    await crawled.run()

    assert (before, target, crawled.value(TARGET)) == (0, 5, 0)
    assert crawled.value("select count(*) from storecrawl.payloads") == 10


async def test_capacity_of_resyncs_is_measured_on_requests(crawl_with: Callable[..., Any]) -> None:
    """A fetch pauses between pages, which limits the fetches per slot and hour."""
    async with LocalUpstream(MENUS_OF_TWO_PAGES) as upstream:
        crawl = crawl_with(platforms={"dutchie": PlatformSettings(upstream=upstream.url)}, page_pause=PAUSE_SECONDS)
        await crawl.run(DISCOVER)

        await crawl.run(*resync_tasks(crawl))

    runs, rate, slots = crawl.rows(
        "select measured_runs, tasks_per_worker_hour, (select max(slots) from rolecall.workers)"
        " from rolecall.capacity('product_resync')"
    )[0]
    assert runs == 5
    assert rate / slots < 3600 / PAUSE_SECONDS
