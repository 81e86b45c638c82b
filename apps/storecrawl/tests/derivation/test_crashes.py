"""Workers and a database server that crash in the middle of a round: the figures are correct afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.migrations import MIGRATIONS

from rolecall import EmbeddedServer, migrate

from .conftest import Market

KILLED = 137
EMPTIED_BY_A_CRASH = ("product_changes", "change_log_mark", "store_partials", "touched_brands")


@pytest.mark.parametrize(
    ("step", "place"),
    [("collect_changes", 1), ("count_stores", 3), ("merge_statistics", 5)],
)
async def test_worker_death_during_a_round_loses_no_figure(market: Any, step: str, place: int) -> None:
    stores = market.stores(2)
    for store in stores:
        await market.change(store, 0, a={}, b={"brandName": "Wana"})

    assert market.crash_worker(f"mid_handler:{place}") == KILLED
    assert market.value("select handler from rolecall.all_tasks where state = 'running' order by id") == step
    await market.change(stores[0], 1, a={"recPrices": [10]})
    await market.recover()

    assert market.wrong_figures() == []
    assert market.query("select distinct state::text from rolecall.all_tasks") == [("completed",)]


async def test_partials_emptied_by_a_server_crash_are_not_merged(market: Any) -> None:
    """The round is abandoned, and another one counts everything."""
    stores = market.stores(3)
    for store in stores:
        await market.change(store, 0, a={}, b={"brandName": f"Brand {store}"})
    await market.derive()
    await market.change(stores[0], 1, a={"recPrices": [10]})
    market.crash_worker("mid_handler:4")

    for table in EMPTIED_BY_A_CRASH:
        market.query(f"truncate storecrawl.{table}")
    await market.recover()

    merged = market.query(
        "select result -> 'changed' from rolecall.all_tasks where handler = 'merge_statistics' order by id"
    )
    assert [each for (each,) in merged][1] is None
    assert len(merged) == 3
    assert market.wrong_figures() == []


@pytest.fixture
def crashing_market(tmp_path: Path) -> Any:
    """A market on a separate server, and a function that stops it as in a power failure."""
    with EmbeddedServer(tmp_path / "server") as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            migrate(connection)
            migrate(connection, MIGRATIONS)

        def crash() -> None:
            pid_file = next((tmp_path / "server").rglob("postmaster.pid"))
            os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGQUIT)
            server.attach()
            market.dsn = server.dsn()

        market = Market(server.dsn(), tmp_path)
        yield market, crash


async def test_server_crash_empties_the_log_and_triggers_a_full_round(
    crashing_market: tuple[Market, Callable[[], None]],
) -> None:
    market, crash = crashing_market
    stores = market.stores(2)
    await market.change(stores[0], 0, a={})
    await market.derive()
    await market.change(stores[1], 0, a={}, b={"brandName": "Wana"})

    crash()

    assert market.value("select count(*) from storecrawl.product_changes") == 0
    assert market.wrong_figures() != []
    await market.derive()
    assert market.wrong_figures() == []
    rounds = "select result -> 'stores' from rolecall.all_tasks where handler = 'collect_changes' order by id desc"
    assert market.value(rounds) is None
