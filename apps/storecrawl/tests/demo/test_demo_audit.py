"""The final check of a cycle names everything that is missing."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.demo.audit import Inventory, find_problems
from storecrawl.demo.figures import Figures
from storecrawl.demo.gaps import Gaps, find_missing
from storecrawl.demo.state import FolderState
from storecrawl.demo.upstream import UpstreamOptions
from storecrawl.demo.upstream.world import World

FIGURES = Figures(stores=2, refreshed_stores=2, payloads=2, products=9, variants=9, snapshots=9, tasks={"completed": 6})
ENTER = """
with store as (
    insert into storecrawl.stores (id, platform, platform_store_id, name) values (%(id)s, 'dutchie', %(store)s, 'S') returning id
),
payload as (
    insert into storecrawl.payloads (
        id, store_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, sequence, applied_at, applied_count, complete
    )
    select id, id, 'p' || id, 0, 0, 0, repeat('0', 64), now(), 1, now(), 0, true from store
    returning id
)
insert into storecrawl.products (
    store_id, external_id, name, name_raw, availability, in_stock, content_hash, catalog_version, first_seen_at, changed_at
)
select id, product, 'P', 'P', 'in_stock', true, '', '', now(), now()
from payload, unnest(%(shown)s::text[]) as product
"""
INVENTORY = Inventory(unapplied_payloads=0, snapshots=9, analysed_stores=2, paths=[], failure=None)


def problems(figures: Figures, inventory: Inventory, folder: Path, expected: int | None = 2) -> list[str]:
    return list(find_problems(inventory, Gaps(), figures, folder, expected))


def test_complete_cycle_misses_nothing(tmp_path: Path) -> None:
    assert problems(FIGURES, INVENTORY, tmp_path) == []


@pytest.mark.parametrize(
    ("figures", "inventory", "problem"),
    [
        ({"stores": 1}, {"analysed_stores": 1}, "1 of 2 stores were found"),
        ({}, {"analysed_stores": 0}, "the views show 0 of 2 stores"),
        ({}, {"unapplied_payloads": 1}, "1 payloads were not turned into products"),
        ({"variants": 0}, {}, "9 products with 0 variants were found"),
        ({}, {"snapshots": 8}, "there are 8 snapshots, the payloads contain 9 products"),
        ({}, {"paths": ["2026/a.json.zst"]}, "1 payload files are missing, the first of them is 2026/a.json.zst"),
        ({"tasks": {"pending": 3}}, {}, "3 tasks are still open"),
        ({"tasks": {"failed": 1}}, {"failure": "payload_fetch 4: HTTP 502"},
         "1 tasks failed, the first of them was payload_fetch 4: HTTP 502"),
    ],
)  # fmt: skip
def test_missing_stores_and_products_are_named(
    tmp_path: Path, figures: dict[str, Any], inventory: dict[str, Any], problem: str
) -> None:
    found = problems(replace(FIGURES, **figures), replace(INVENTORY, **inventory), tmp_path)

    assert found == [problem]


def test_upstream_of_unknown_size_must_have_at_least_one_store(tmp_path: Path) -> None:
    nothing = Inventory(unapplied_payloads=0, snapshots=0, analysed_stores=0, paths=[], failure=None)

    assert problems(Figures(), nothing, tmp_path, expected=None) == ["no stores were found"]


def test_products_missing_from_the_catalog_are_named(connection: psycopg.Connection[Any]) -> None:
    """Counting fetched products cannot find this: 3.9 % of those of stores with two price lists were missing."""
    state = FolderState(port=1, stores=2, seed=1, step=3.0, since=time.time() - 60, step_seconds=0.0)
    world = World(UpstreamOptions(stores=2, seed=1))
    [whole, lacking] = [store["id"] for store in world.stores({})]
    for number, store in enumerate((whole, lacking), start=1):
        shown = sorted(world.offered_products(store, 3))
        connection.execute(ENTER, {"id": number, "store": store, "shown": shown[2:] if store == lacking else shown})

    [missing] = find_missing(connection, state)

    assert (missing.store, missing.products) == (2, tuple(sorted(world.offered_products(lacking, 3))[:2]))
    assert missing.sentence().startswith("store 2 (S) offers 2 products that the catalog lacks: ")


def test_stores_fetched_before_this_cycle_are_not_compared(connection: psycopg.Connection[Any]) -> None:
    state = FolderState(port=1, stores=1, seed=1, step=3.0, since=time.time() + 60, step_seconds=0.0)
    [store] = [store["id"] for store in World(UpstreamOptions(stores=1, seed=1)).stores({})]
    connection.execute(ENTER, {"id": 1, "store": store, "shown": []})

    assert find_missing(connection, state) == ()
