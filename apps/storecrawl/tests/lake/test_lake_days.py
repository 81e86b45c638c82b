"""The files of days: equal to the database, replaced when a day changes."""

from __future__ import annotations

from datetime import date
from typing import Any

import psycopg
from storecrawl.lake.columns import PRICES, PRODUCTS
from storecrawl.lake.days import marks_of, remove_marks
from storecrawl.lake.sql import ROWS

from apps.storecrawl.tests.lake.conftest import DAY, Lake

FIRST, SECOND = date(2026, 5, 1), date(2026, 5, 2)
IN_LAKE = """
select
    day, platform, state, store_id, product_id, external_id, name, brand, option, price_rec_cents, special_rec_cents,
    first_rec_cents, lowest_rec_cents, highest_rec_cents, price_changes, quantity, in_stock, observations,
    first_observed_at, last_observed_at
from prices order by day, product_id, option
"""
# Written otherwise than the statement of the lake: by a lateral search for the last observation, and aggregates.
IN_DATABASE = """
select
    (v.captured_at at time zone 'UTC')::date as day, 'dutchie', s.state, p.store_id, v.product_id, p.external_id,
    last.name, last.brand, v.option, last.price_rec_cents, last.special_rec_cents,
    (array_agg(least(v.price_rec_cents, v.special_rec_cents) order by v.captured_at))[1],
    min(least(v.price_rec_cents, v.special_rec_cents)), max(least(v.price_rec_cents, v.special_rec_cents)),
    count(*) filter (where v.price_rec_cents <> (
        select e.price_rec_cents from storecrawl.captured_variants e
        where e.product_id = v.product_id and e.option = v.option and e.captured_at < v.captured_at
            and (e.captured_at at time zone 'UTC')::date = (v.captured_at at time zone 'UTC')::date
        order by e.captured_at desc limit 1
    )),
    last.quantity, last.in_stock, count(*), min(v.captured_at), max(v.captured_at)
from storecrawl.captured_variants v
join storecrawl.products p on p.id = v.product_id
join storecrawl.stores s on s.id = p.store_id
cross join lateral (
    select c.name, c.brand, l.price_rec_cents, l.special_rec_cents, l.quantity, l.in_stock
    from storecrawl.captured_variants l
    join storecrawl.captured_products c using (payload_id, product_id)
    where l.product_id = v.product_id and l.option = v.option
        and (l.captured_at at time zone 'UTC')::date = (v.captured_at at time zone 'UTC')::date
    order by l.captured_at desc limit 1
) last
group by
    (v.captured_at at time zone 'UTC')::date, s.state, p.store_id, v.product_id, p.external_id, v.option, last.name,
    last.brand, last.price_rec_cents, last.special_rec_cents, last.quantity, last.in_stock
order by day, product_id, option
"""


async def test_lake_has_the_prices_of_the_database(any_lake: Lake, two_days: int, connection: Any) -> None:
    written = await any_lake.write()

    expected = await (await connection.execute(IN_DATABASE)).fetchall()
    assert any_lake.rows(IN_LAKE) == expected
    assert [day.rows for day in written] == [4, 3]


async def test_newest_values_of_a_product_are_in_the_view_of_products(lake: Lake, two_days: int) -> None:
    await lake.write()

    assert lake.rows("select name, brand, first_day, last_day from products order by external_id") == [
        ("Product a", "KITE", FIRST, SECOND),
        ("Product b", None, FIRST, FIRST),
        ("Product c", None, FIRST, SECOND),
    ]
    assert lake.rows("select brand, brand_slug, stores, products from brands") == [("KITE", "kite", 1, 1)]


async def test_late_payload_replaces_the_file_of_its_day_only(
    any_lake: Lake, two_days: int, refresh: Any, make_menu: Any, new_payload: Any
) -> None:
    await any_lake.write()
    before = any_lake.files()

    late = await new_payload(two_days, 12, sequence=100)
    await refresh(two_days, 12, make_menu({"a": {"recPrices": [9]}}), late)

    assert [day.day for day in await any_lake.marked()] == [FIRST]
    await any_lake.write()
    assert any_lake.rows(f"select min(lowest_rec_cents) from prices where day = '{FIRST}'") == [(900,)]
    assert any_lake.files() == before


async def test_written_days_are_not_written_again(lake: Lake, two_days: int) -> None:
    await lake.write()

    assert await lake.marked() == []


async def test_day_that_changes_while_it_is_written_stays_marked(
    lake: Lake, two_days: int, refresh: Any, make_menu: Any, connection: psycopg.AsyncConnection[Any]
) -> None:
    first, second = await lake.marked()
    marks = await marks_of(connection, second)
    await refresh(two_days, DAY + 2, make_menu(["a"]))

    await remove_marks(connection, second, marks)

    assert await lake.marked() == [first, second]


async def test_store_that_moves_is_in_the_files_of_its_new_state_only(
    lake: Lake, two_days: int, connection: psycopg.AsyncConnection[Any]
) -> None:
    await lake.write()

    await connection.execute("update storecrawl.stores set state = 'New/Mexico'")
    await lake.write()

    assert lake.rows("select distinct state from prices") == [("unknown",)]
    assert not any("state=AZ" in path for path in lake.files())


async def test_file_stays_if_the_database_has_lost_the_history_of_its_day(
    lake: Lake, two_days: int, connection: psycopg.AsyncConnection[Any]
) -> None:
    await lake.write()
    before = lake.rows("from prices order by all")

    await connection.execute("update storecrawl.payloads set applied_count = 10 * applied_count")
    written = await lake.write()

    assert [day.lost_history for day in written] == [True, True]
    assert lake.rows("from prices order by all") == before
    assert await lake.marked() == []


async def test_expired_payload_file_marks_no_day(
    lake: Lake, two_days: int, connection: psycopg.AsyncConnection[Any]
) -> None:
    await lake.write()

    await connection.execute("update storecrawl.payloads set expired_at = now()")

    assert await lake.marked() == []


async def test_statements_return_the_declared_columns(connection: psycopg.AsyncConnection[Any]) -> None:
    criteria = dict.fromkeys(["since", "until", "store", "platform", "state"])

    prices = await connection.execute(ROWS.prices, {"payloads": []})
    assert [column.name for column in prices.description or ()] == list(PRICES)
    products = await connection.execute(ROWS.products, criteria)
    assert [column.name for column in products.description or ()] == list(PRODUCTS)
