"""A database of the previous release, with data, is upgraded to the current tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.migrations import MIGRATIONS

from rolecall import Migrations, migrate
from rolecall.db.migrations import ROLECALL
from rolecall.testing import TestServer, template

RELEASED = 14
STORE = "insert into storecrawl.stores (platform_store_id, name) values ('5f0e8d7c6b5a493827161504', 'Sun')"
PAYLOAD = """
insert into storecrawl.payloads (store_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at)
values (1, %s, 1, 2, 3, repeat('0', 64), now())
"""
# How workers of that release disabled a route.
BANNED = """
update storecrawl.routes
set active = false, disabled_at = now(),
    disabled_because = '3 answers 403 in a row, each to another profile: chrome-1, chrome-2, firefox-1'
where host = %s
"""
PRODUCT = """
insert into storecrawl.products (
    store_id, external_id, name, name_raw, availability, in_stock, content_hash,
    first_seen_at, last_seen_at, changed_at, last_fetched_at, last_payload_id
)
select 1, %s, 'Gummies', 'Gummies', 'in_stock', true, '', now(), now(), now(), now(), min(id) from storecrawl.payloads
"""
VARIANT = """
insert into storecrawl.variants (
    product_id, option, option_raw, position, weight_value, weight_unit, quantity_capped, in_stock, first_seen_at, changed_at
)
select max(id), '100mg', '100mg', 0, 100, 'mg', false, true, now(), now() from storecrawl.products
"""
ROUTE = "insert into storecrawl.routes (protocol, host, port) values ('http', %s, 9)"


@pytest.fixture
def released_schema(postgres_server: TestServer, tmp_path: Path) -> Iterator[psycopg.Connection[Any]]:
    numbered = [file for file in MIGRATIONS.folder.iterdir() if file.name.endswith(".sql")]
    for file in sorted(numbered, key=lambda each: each.name)[:RELEASED]:
        (tmp_path / file.name).write_text(file.read_text())
    before = Migrations(name="storecrawl", folder=tmp_path)
    with (
        template(postgres_server, (ROLECALL, before)) as name,
        psycopg.connect(postgres_server.dsn(name), autocommit=True) as connection,
    ):
        connection.execute(STORE)
        connection.execute(PAYLOAD, ("2026/05/old.json.gz",))
        for host in ("10.0.0.1", "10.0.0.2"):
            connection.execute(ROUTE, (host,))
        connection.execute(BANNED, ("10.0.0.1",))
        connection.execute("update storecrawl.routes set active = false, disabled_at = now(), disabled_because = 'by hand'"
                           " where host = '10.0.0.2'")  # fmt: skip
        yield connection


def test_upgrade_keeps_payloads_and_clears_a_single_stores_effect_on_a_route(
    released_schema: psycopg.Connection[Any],
) -> None:
    applied = migrate(released_schema, MIGRATIONS)

    assert [label.split()[-1] for label in applied] == [
        "0015_blame",
        "0016_raw_menus",
        "0017_refusals",
        "0018_names_for_psql",
        "0019_product_details",
        "0020_repeats",
        "0021_answer_digests",
    ]
    payload = "select storage_path, refused_products, refused_options from storecrawl.payloads"
    assert released_schema.execute(payload).fetchall() == [("2026/05/old.json.gz", None, None)]
    routes = "select active, disabled_because from storecrawl.routes order by host"
    assert released_schema.execute(routes).fetchall() == [(True, None), (False, "by hand")]


def test_workers_of_the_previous_release_can_still_write(released_schema: psycopg.Connection[Any]) -> None:
    migrate(released_schema, MIGRATIONS)
    pause = "update storecrawl.routes set paused_until = now() + interval '1 min', paused_because = 'x' where host = %s"
    released_schema.execute(pause, ("10.0.0.1",))

    released_schema.execute(BANNED, ("10.0.0.1",))
    released_schema.execute(PAYLOAD, ("2026/05/new.json.gz",))

    assert released_schema.execute("select active from storecrawl.routes where host = '10.0.0.1'").fetchall() == [
        (False,)
    ]
    assert released_schema.execute("select count(*) from storecrawl.payloads").fetchall() == [(2,)]


def test_products_of_the_previous_release_stay_unchanged_without_new_fields(
    released_schema: psycopg.Connection[Any],
) -> None:
    """Until their next write; workers of that release write them as before."""
    for external_id in ("before", "after"):
        released_schema.execute(PRODUCT, (external_id,))
        released_schema.execute(VARIANT)
        migrate(released_schema, MIGRATIONS)

    products_query = "select external_id, rec_only, medical_only, revised_at from storecrawl.products order by id"
    assert released_schema.execute(products_query).fetchall() == [
        ("before", None, None, None),
        ("after", None, None, None),
    ]
    doses = "select weight_value::int, weight_unit, dose_mg from storecrawl.variants"
    assert released_schema.execute(doses).fetchall() == [(100, "mg", None)] * 2
    assert released_schema.execute("select count(*) from storecrawl.product_details").fetchall() == [(0,)]
