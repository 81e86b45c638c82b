"""`storecrawl demo --once`: one full cycle in a new folder, and a second one in the same folder."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import COMMAND, DemoFolder, Outcome

PLATFORMS = """
select json_object_agg(platform, payloads)
from (
    select store.platform, count(distinct payload.id) as payloads
    from storecrawl.stores as store
    join storecrawl.payloads as payload on payload.store_id = store.id
    join storecrawl.products as product on product.store_id = store.id
    group by store.platform
) as counted
"""
STATES = ["completed", "failed", "cancelled", "pending", "running", "blocked", "waiting"]


@pytest.fixture(scope="module")
def cycle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DemoFolder, Outcome]]:
    demo = DemoFolder(tmp_path_factory.mktemp("cycle"))
    yield demo, demo.run("--once", "--json", "--stores", "4")
    demo.clear()


def test_cycle_exits_with_code_0_and_reports_no_problems(cycle: tuple[DemoFolder, Outcome]) -> None:
    _, outcome = cycle

    assert (outcome.code, outcome.err) == (0, "")


def test_summary_has_exactly_the_documented_keys(cycle: tuple[DemoFolder, Outcome]) -> None:
    summary = cycle[1].summary

    counted = ["stores", "payloads", "products", "variants", "snapshots", "tasks", "seconds"]
    assert list(summary) == [*counted, "unrefreshed", "unsearched", "api"]
    assert summary["unrefreshed"] == summary["unsearched"] == []
    assert list(summary["tasks"]) == STATES


def test_every_store_has_one_payload_and_every_product_one_snapshot(cycle: tuple[DemoFolder, Outcome]) -> None:
    summary = cycle[1].summary

    assert (summary["stores"], summary["payloads"]) == (6, 6)
    assert summary["snapshots"] == summary["products"] > 0
    assert summary["variants"] >= summary["products"]


def test_cycle_crawls_three_platforms_and_its_rows_match_its_payloads(cycle: tuple[DemoFolder, Outcome]) -> None:
    demo, _ = cycle

    crawled = demo.value(PLATFORMS)
    assert crawled == {"dutchie": 4, "dispense": 1, "weedmaps": 1}
    verified = subprocess.run(
        [str(COMMAND), "verify", "--json", "--data-dir", str(demo.data)],
        env={**os.environ, "DATABASE_URL": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert verified.returncode == 0, verified.stderr
    found = json.loads(verified.stdout)
    assert (found["payloads"], found["differences"]["fields"]) == (6, {})


def test_every_task_of_a_cycle_is_completed(cycle: tuple[DemoFolder, Outcome]) -> None:
    demo, outcome = cycle
    searches = demo.value(
        "select (select count(*) from storecrawl.state_searches) + (select count(*) from storecrawl.cities)"
    )
    rounds = demo.value("select count(*) from rolecall.all_tasks where role = 'analytics_refresh'")

    assert outcome.summary["tasks"] == {**dict.fromkeys(STATES, 0), "completed": 1 + searches + 6 + 6 + rounds}


def test_cycle_leaves_no_process_behind(cycle: tuple[DemoFolder, Outcome]) -> None:
    cycle[0].expect_nothing_left()


def test_payload_rows_and_files_match_one_to_one(cycle: tuple[DemoFolder, Outcome]) -> None:
    demo, _ = cycle

    crawled = demo.value("select array_agg(storage_path) from storecrawl.payloads")
    raw = demo.value("select array_agg(storage_path) from storecrawl.raw_menus")
    discovered = demo.value("select array_agg(storage_path) from storecrawl.discovery_payloads")

    assert sorted(crawled + raw + discovered) == sorted(_files(demo.data / "payloads"))


def test_folder_keeps_its_simulated_world(cycle: tuple[DemoFolder, Outcome]) -> None:
    other_seed = cycle[0].run("--once", "--seed", "2")
    fewer_stores = cycle[0].run("--once", "--stores", "3")

    assert (other_seed.code, fewer_stores.code) == (2, 2)
    assert "has the world of seed 1; use another --data-dir for another seed" in other_seed.err
    assert "has a world of 4 stores; use another --data-dir for a smaller one" in fewer_stores.err


def test_second_cycle_finds_everything_done_and_names_a_skipped_store(cycle: tuple[DemoFolder, Outcome]) -> None:
    demo, first = cycle
    store = demo.value(
        "insert into storecrawl.stores (platform, platform_store_id, name, state, crawl_enabled)"
        " values ('dutchie', 'left-out', 'Left out', 'AZ', true) returning id"
    )

    second = demo.run("--once", "--no-api", "--processes", "1")

    counts = {kind: f"{first.summary[kind]:,}" for kind in ("payloads", "products", "variants", "snapshots")}
    words = "7 stores, {payloads} payloads, {products} products with {variants} variants, {snapshots} snapshots;"
    assert second.out.splitlines()[-1].startswith(words.format(**counts))
    assert second.code == 1
    assert f"storecrawl: store {store} (Left out, AZ) was not refreshed: no task of it is kept" in second.err


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
