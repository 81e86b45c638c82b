"""Recurring and on-demand crawls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psycopg.types.json import Jsonb

from rolecall import NewTask

DISCOVER = NewTask(handler="store_discovery")
FETCH_ALL = NewTask(handler="payload_fetch_all")


async def test_due_stores_are_fetched_again(crawl_with: Callable[..., Any]) -> None:
    crawl = crawl_with(fetch_every=0.001)
    await crawl.run(DISCOVER)

    await crawl.run(FETCH_ALL)

    fetched = "select count(*) from rolecall.all_tasks where handler = 'payload_fetch' and state = 'completed'"
    assert crawl.value(fetched) == 5
    assert crawl.value("select count(*) from storecrawl.payloads where applied_at is not null") == 10


async def test_round_makes_stores_without_a_menu_dark(crawl: Any) -> None:
    crawl.rows(
        "insert into storecrawl.stores (name, first_seen_at) values ('Sun', now() - interval '49 hours'),"
        " ('Moon', now() - interval '47 hours') returning 1"
    )

    await crawl.run(FETCH_ALL)

    assert crawl.value("select result from rolecall.all_tasks where handler = 'payload_fetch_all'")["dark"] == 1
    assert crawl.rows("select name from storecrawl.stores where dark_since is not null") == [("Sun",)]


async def test_recently_fetched_stores_are_skipped(crawled: Any) -> None:
    await crawled.run(FETCH_ALL)

    assert crawled.value("select count(*) from rolecall.all_tasks where handler = 'payload_fetch'") == 0


async def test_fetches_of_a_round_are_spread_over_it(crawl: Any) -> None:
    """Batches over the four hours, with every store in one of them."""
    await crawl.run(DISCOVER)
    crawl.rows("update storecrawl.stores set last_fetch_at = last_fetch_at - interval '4 hours' returning 1")
    [generator] = crawl.enqueue(FETCH_ALL)

    await crawl.run()

    fetches = crawl.rows(
        """select extract(epoch from task.scheduled_for - made.scheduled_for)::int / 60, count(*)
        from rolecall.all_tasks as task join rolecall.all_tasks as made on made.id = task.origin_id
        where task.handler = 'payload_fetch' and made.id = %s group by 1 order by 1""",
        generator,
    )
    assert [number for _, number in fetches] == [1] * 5
    assert [minutes for minutes, _ in fetches] == [0, 40, 80, 120, 160]


async def test_store_keeps_its_position_from_round_to_round(crawl: Any) -> None:
    """A store fetched late in one round is fetched late in the next, not skipped."""
    await crawl.run(DISCOVER)
    last = crawl.value("select max(id) from storecrawl.stores")
    crawl.rows(
        "update storecrawl.stores set last_fetch_at = last_fetch_at - interval '80 minutes' where id = %s returning 1",
        last,
    )

    await crawl.run(FETCH_ALL)

    assert crawl.rows("select payload ->> 'store_id' from rolecall.all_tasks where handler = 'payload_fetch'") == [
        (str(last),)
    ]


async def test_schedule_can_be_limited_to_one_state(crawled: Any) -> None:
    crawled.rows(
        "update storecrawl.stores set last_fetch_at = null, state = case id when 1 then 'ZZ' else state end returning 1"
    )
    schedule = {"name": "of ZZ", "handler": "payload_fetch_all", "every": 14400, "payload": {"state": "ZZ"}}
    crawled.rows("select rolecall.put_schedule(%s)", Jsonb(schedule))
    crawled.rows("select * from rolecall.fire_schedules(100)")

    await crawled.run()

    fetched = "select payload ->> 'store_id' from rolecall.all_tasks where handler = 'payload_fetch'"
    assert crawled.rows(fetched) == [("1",)]
    schedule_query = "select last_task_count, last_error from rolecall.schedules where name = 'of ZZ'"
    assert crawled.rows(schedule_query) == [(1, None)]


async def test_store_with_an_open_task_is_not_enqueued_again(crawl_with: Callable[..., Any]) -> None:
    crawl = crawl_with(fetch_every=0.001)
    await crawl.run(DISCOVER)
    busy = crawl.value("select min(id) from storecrawl.stores")
    crawl.enqueue(NewTask(handler="product_refresh", payload={"payload_id": 1}, key=f"store:{busy}", after=3600))

    await crawl.run(FETCH_ALL)

    assert crawl.value("select result from rolecall.all_tasks where handler = 'payload_fetch_all'")["enqueued"] == 4


async def test_task_of_an_uncrawled_store_is_cancelled_with_the_reason(crawl: Any) -> None:
    await crawl.run(NewTask(handler="payload_fetch", payload={"store_id": 404}))

    state, error = crawl.rows("select state::text, error from rolecall.all_tasks")[0]
    assert state == "cancelled"
    assert "store 404" in error


async def test_store_known_by_its_menu_address_is_found_and_crawled(crawled: Any) -> None:
    slug = crawled.value("select slug from storecrawl.stores limit 1")

    entry = f"https://menus.example/dispensary/{slug}"
    await crawled.run(NewTask(handler="entry_point_discovery", payload={"entry": entry}))

    found = "select state::text from rolecall.all_tasks where handler = 'entry_point_discovery'"
    assert crawled.value(found) == "completed"
