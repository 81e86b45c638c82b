"""The crawl benchmark runs whole cycles with real workers, and a second one over hardly changed menus costs far less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from bench.crawl import measure
from bench.crawl_cycles import Part
from bench.crawl_report import show
from bench.crawl_world import SERVER, CrawlSizes
from bench.server import throw_away_server

SIZES = CrawlSizes(stores=12, products=80, workers=1, settling=0.0)
PARTS = ["discovery", "cycle 1", "derive 1", "cycle 2", "derive 2"]


@pytest.fixture(scope="module")
def parts() -> Iterator[list[Part]]:
    with throw_away_server(replace(SERVER, shared_buffers="128MB")) as server:
        yield list(measure(server, SIZES))


def written(part: Part, statement: str) -> int:
    """Bytes of WAL that a statement of the crawler's wrote."""
    return sum(each.wal for each in part.statements if each.name == statement)


def test_every_store_is_refreshed_in_every_cycle(parts: list[Part]) -> None:
    assert [(part.name, part.stores) for part in parts] == [(name, 12 if "cycle" in name else 0) for name in PARTS]
    assert {handler.not_completed for part in parts for handler in part.handlers} == {0}


def test_cycle_over_mostly_unchanged_menus_writes_far_less(parts: list[Part]) -> None:
    first, second = parts[1], parts[3]

    assert first.products == second.products > 800
    assert written(second, "upsert_products") < 0.15 * written(first, "upsert_products")
    assert written(second, "set_history") < 0.25 * written(first, "set_history")
    assert second.wal < 0.7 * first.wal


def test_costs_of_upstream_workers_and_postgres_are_reported_separately(parts: list[Part]) -> None:
    assert all(parts[1].cpu(kind) > 0 for kind in ("workers", "Postgres", "upstream"))


def test_functions_of_the_workers_are_profiled(parts: list[Part]) -> None:
    assert any(place.startswith("storecrawl.") for place in parts[-1].end.samples)


def test_tables_contain_all_parts(parts: list[Part]) -> None:
    console = Console(width=200, record=True)

    show(parts, console)

    result = console.export_text()
    assert all(name in result for name in (*PARTS, "product_refresh", "storecrawl.products", "bar: cycle 2 / cycle 1"))
