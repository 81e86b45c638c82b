"""From a discovered store to products, through the real worker."""

from __future__ import annotations

from typing import Any

from storecrawl.demo.upstream import FaultDial, LocalUpstream

from rolecall import NewTask

DISCOVER = NewTask(handler="store_discovery")


async def test_discovery_leads_to_the_products_of_every_store(crawl: Any) -> None:
    await crawl.run(DISCOVER)

    assert crawl.value("select count(*) from storecrawl.stores") == 5
    assert crawl.states() == {"completed"}
    assert crawl.value("select count(distinct store_id) from storecrawl.products") == 5


def test_discovery_result_names_the_new_stores(crawled: Any) -> None:
    result = crawled.value("select result from rolecall.all_tasks where handler = 'store_discovery'")
    assert result["newStoreIds"] == [row[0] for row in crawled.rows("select id from storecrawl.stores order by id")]


def test_each_new_store_has_a_chain_started_by_its_discovery(crawled: Any) -> None:
    of_stores = "select handler, chain_index, count(*) from rolecall.all_tasks where role <> 'analytics_refresh'"
    chain = crawled.rows(f"{of_stores} group by 1, 2 order by 2, 1")
    chains = {handler: (index, number) for handler, index, number in chain if not handler.startswith("discover_")}
    assert chains == {
        "product_discovery": (0, 5), "product_refresh": (1, 5), "store_discovery": (0, 1),
    }  # fmt: skip
    origins = "select distinct origin.handler from rolecall.all_tasks t join rolecall.all_tasks origin on origin.id = t.origin_id"
    assert crawled.rows(f"{origins} where t.handler = 'product_discovery'") == [("store_discovery",)]


async def test_second_discovery_finds_nothing_new(crawled: Any) -> None:
    await crawled.run(DISCOVER)

    assert crawled.value("select count(*) from rolecall.all_tasks where handler = 'product_discovery'") == 5


def test_every_payload_row_has_its_file_and_its_task(crawled: Any) -> None:
    rows = crawled.rows("select storage_path, size_gz, task_id from storecrawl.payloads")
    root = crawled.settings.data_dir / "payloads"
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("store_*/*.json.zst")}
    assert {path for path, _, _ in rows} == set(files)
    assert all(files[path].stat().st_size == size for path, size, _ in rows)
    assert crawled.value("select count(*) from storecrawl.payloads join rolecall.all_tasks t on t.id = task_id") == 5


async def test_payload_refreshed_twice_changes_nothing(crawled: Any) -> None:
    before = _catalog(crawled)

    payloads = crawled.rows("select id from storecrawl.payloads")
    await crawled.run(*(NewTask(handler="product_refresh", payload={"payload_id": id_}) for (id_,) in payloads))

    assert _catalog(crawled) == before


async def test_unchanged_menu_is_fetched_and_stored_but_not_read_again(crawled: Any) -> None:
    product_count = crawled.value("select count(*) from storecrawl.product_history")

    stores = crawled.rows("select id from storecrawl.stores order by id")
    await crawled.run(*(NewTask(handler="payload_fetch", payload={"store_id": store}) for (store,) in stores))

    assert crawled.states() == {"completed"}
    assert crawled.value("select count(*) from storecrawl.payloads where repeats is not null") == 5
    assert crawled.value("select count(*) from storecrawl.product_history") == product_count
    assert crawled.value("select count(*) from storecrawl.captured_products") == 2 * product_count
    of_last = "select result from rolecall.all_tasks where handler = 'product_refresh' order by id desc limit 1"
    assert crawled.value(of_last)["unchanged"] > 0


async def test_refresh_without_a_store_continues_as_one_with_it(crawled: Any) -> None:
    """So it has the store's key, although its creator only knew the payload."""
    payload, store = crawled.rows("select id, store_id from storecrawl.payloads order by id limit 1")[0]

    await crawled.run(NewTask(handler="product_refresh", payload={"payload_id": payload}))

    chain = "select payload, key, result is not null from rolecall.all_tasks where handler = 'product_refresh'"
    first, second = crawled.rows(f"{chain} order by id desc limit 2")[::-1]
    assert first == ({"payload_id": payload}, None, False)
    assert second == ({"payload_id": payload, "store_id": store}, f"store:{store}", True)


async def test_refresh_under_another_stores_key_fails_and_names_the_right_store(crawled: Any) -> None:
    payload, store = crawled.rows("select id, store_id from storecrawl.payloads order by id limit 1")[0]

    await crawled.run(NewTask(handler="product_refresh", payload={"payload_id": payload, "store_id": store + 1}))

    refreshes = "select state::text, attempt, error from rolecall.all_tasks where handler = 'product_refresh'"
    state, attempt, error = crawled.rows(f"{refreshes} order by id desc limit 1")[0]
    assert (state, attempt) == ("failed", 1)
    assert f"payload {payload} belongs to store {store}, not {store + 1}" in error


async def test_lost_payload_file_fails_the_refresh_with_a_reason(crawled: Any) -> None:
    (payload, path), *_ = crawled.rows("select id, storage_path from storecrawl.payloads")
    (crawled.settings.data_dir / "payloads" / path).unlink()

    await crawled.run(NewTask(handler="product_refresh", payload={"payload_id": payload}))

    refreshes = "select state::text, attempt, error from rolecall.all_tasks where handler = 'product_refresh'"
    state, attempt, error = crawled.rows(f"{refreshes} order by id desc limit 1")[0]
    assert (state, attempt) == ("failed", 1)
    assert "PayloadMissing" in error


async def test_views_are_refreshed(crawled: Any) -> None:
    await crawled.run(NewTask(handler="analytics_refresh"))

    assert crawled.value("select count(*) from storecrawl.store_product_counts") == 5


async def test_upstream_that_fails_often_is_still_crawled(crawl: Any, upstream: LocalUpstream) -> None:
    upstream.set_failures(FaultDial(failure_rate=0.4, slow_seconds=0.01, retry_after_seconds=0))

    await crawl.run(DISCOVER)

    assert crawl.value("select count(distinct store_id) from storecrawl.payloads where applied_at is not null") == 5
    assert crawl.states() == {"completed"}


def test_fetched_payloads_are_applied_before_more_are_fetched(crawled: Any) -> None:
    priority_of = "select distinct priority from rolecall.all_tasks where handler = %s"
    assert crawled.value(priority_of, "product_refresh") > crawled.value(priority_of, "product_discovery")


def _catalog(crawl: Any) -> list[Any]:
    tables = ("products", "variants", "product_history", "price_history", "stock_history")
    return [crawl.value(f"select count(*) from storecrawl.{table}") for table in tables]
