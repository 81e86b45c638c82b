"""Changes are logged, one task takes the log, and the statistics are updated."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from storecrawl.catalog import split_batches

from rolecall import Client, InvalidPayload, NewTask

PENDING = "select count(*) from rolecall.all_tasks where handler = 'collect_changes' and finished_at is null"
LOGGED = "select coalesce(range_agg(range)::text, '{}') from storecrawl.product_changes, unnest(stores) as range"


async def test_edit_appears_in_the_statistics(market: Any) -> None:
    [store, other] = market.stores(2)
    await market.change(store, 0, a={}, b={"brandName": "Wana", "type": "Edible", "recPrices": [10]})
    await market.change(other, 0, a={"recPrices": [30], "Status": "Inactive"})
    await market.derive()
    brands = "select name, stores, products, in_stock, lowest_cents, average_cents, highest_cents, price_changes"
    query = f"{brands} from storecrawl.brand_statistics join storecrawl.brands on id = brand_id order by name"
    assert market.query(query) == [("Kite", 2, 2, 1, 2000, 2500, 3000, 0), ("Wana", 1, 1, 1, 1000, 1000, 1000, 0)]

    await market.change(store, 1, a={"recPrices": [24]}, b={"brandName": "Wana", "type": "Edible", "recPrices": [10]})
    await market.derive()

    assert market.query(query)[0] == ("Kite", 2, 2, 1, 2400, 2700, 3000, 1)
    assert market.wrong_figures() == []


async def test_log_stores_ranges_of_store_ids_and_has_one_task(market: Any) -> None:
    stores = market.stores(4)
    for store in (stores[0], stores[1], stores[3]):
        await market.change(store, 0, a={}, b={})

    assert market.value(PENDING) == 1
    assert market.value(LOGGED) == f"{{[{stores[0]},{stores[1] + 1}),[{stores[3]},{stores[3] + 1})}}"

    await market.derive()

    assert market.handlers() == ["collect_changes", "map_stores", *["count_stores"] * 4, "merge_statistics"]
    assert market.value("select count(*) from storecrawl.product_changes") == 0


async def test_unchanged_products_are_not_counted_again(market: Any) -> None:
    [store] = market.stores(1)
    await market.change(store, 0, a={})
    await market.derive()

    await market.change(store, 1, a={})
    assert market.value(LOGGED) == "{}"
    await market.derive()

    assert market.handlers()[-1] == "collect_changes"


async def test_rolled_back_change_is_not_logged(market: Any) -> None:
    [store] = market.stores(1)
    await market.derive()
    async with await psycopg.AsyncConnection.connect(market.dsn) as connection:
        await market.change(store, 0, connection, a={})
        await connection.rollback()

    assert (market.value(PENDING), market.value(LOGGED)) == (0, "{}")


async def test_round_overwrites_its_counts_and_deletes_brands_no_longer_sold(market: Any) -> None:
    [store] = market.stores(1)
    await market.change(store, 0, a={}, b={"brandName": "Wana", "type": "Edible"})
    await market.derive()

    for hour in (1, 2, 3):
        await market.change(store, hour, a={})
        await market.derive()

    assert market.query("select name from storecrawl.brand_statistics join storecrawl.brands on id = brand_id") == [
        ("Kite",)
    ]
    assert market.query("select category from storecrawl.store_category_statistics") == [("flower",)]
    assert market.value("select count(*) from storecrawl.store_partials") == 1


async def test_full_round_corrects_changes_that_were_not_logged(market: Any) -> None:
    """Stores are null, and rows without products are deleted."""
    stores = market.stores(3)
    for store in stores:
        await market.change(store, 0, a={}, b={"brandName": "Wana"})
    await market.derive()
    market.query("update storecrawl.store_partials set products = 40 where store_id = %s", stores[0])
    market.query("insert into storecrawl.brands (name, slug) values ('Nobody', 'nobody')")
    market.query(
        "insert into storecrawl.brand_statistics"
        " select id, 1, 1, 1, 1, 0, 1, 1, 1, 0, null from storecrawl.brands where slug = 'nobody'"
    )
    market.query("delete from storecrawl.store_category_statistics where store_id = %s", stores[1])
    assert market.wrong_figures() != []

    await market.derive(NewTask(handler="analytics_refresh"))

    assert market.wrong_figures() == []
    payloads = "select payload from rolecall.all_tasks where handler in ('map_stores', 'merge_statistics') order by id"
    assert market.query(payloads)[-2:] == [({"stores": None},), ({"stores": None},)]


def test_step_without_a_store_range_is_rejected(market: Any) -> None:
    with Client(market.dsn, app=market.app) as client, pytest.raises(InvalidPayload):
        client.enqueue("map_stores", {})


def test_batch_size_grows_with_the_size_of_the_round() -> None:
    sizes = {number: [len(batch) for batch in split_batches(range(number))] for number in (1, 5, 160, 5000, 10_000)}

    assert (sizes[1], sizes[5]) == ([1], [1] * 5)
    assert (sizes[160], sizes[5000][0], len(sizes[5000])) == ([10] * 16, 250, 20)
    assert max(sizes[10_000]) == 250


async def test_every_task_of_a_round_has_the_priority_of_its_root(market: Any) -> None:
    for store in market.stores(3):
        await market.change(store, 0, a={})
    with Client(market.dsn, app=market.app) as client:
        client.cancel(market.value("select id from rolecall.all_tasks where handler = 'collect_changes'"))

    await market.derive(NewTask(handler="collect_changes", priority=7))

    round_of_seven = "select count(*), min(priority), max(priority) from rolecall.all_tasks where state = 'completed'"
    assert market.query(round_of_seven) == [(6, 7, 7)]


async def test_views_are_refreshed_only_when_something_changed(market: Any) -> None:
    [store] = market.stores(1)
    await market.change(store, 0, a={})
    refreshed = (
        "select jsonb_array_length(result -> 'refreshed') from rolecall.all_tasks where handler = 'refresh_views'"
    )

    for _ in range(2):
        await market.derive(NewTask(handler="analytics_refresh"))
    await market.change(store, 1, a={})
    await market.derive(NewTask(handler="analytics_refresh"))

    assert market.query(f"{refreshed} order by id") == [(3,), (0,), (3,)]
    assert market.value("select products from storecrawl.store_product_counts") == 1
