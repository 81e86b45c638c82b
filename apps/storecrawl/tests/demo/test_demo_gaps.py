"""Gaps of a full cycle: at the maximum failure rate each store is refreshed or named with a reason."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.demo.audit import find_problems, take_inventory
from storecrawl.demo.figures import read_figures
from storecrawl.demo.gaps import Gaps, UnrefreshedStore, UnsearchedPlace, find_gaps
from storecrawl.demo.options import MOST_FAILURES
from storecrawl.demo.requests import enqueue
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream, UpstreamOptions
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from apps.storecrawl.tests.conftest import Shop
from rolecall import App, WorkerOptions
from rolecall.testing import drain, working

STORES = 6
WORLD = UpstreamOptions(stores=STORES, menu_smallest=20, menu_median=150, menu_largest=300)
MAXIMUM = FaultDial(failure_rate=MOST_FAILURES, slow_seconds=0.01, retry_after_seconds=0)
REFRESHED = "select array_agg(distinct store_id) from storecrawl.payloads where applied_at is not null"
# After a slow round of statistics, the next one may be due later than a drain waits.
OPEN = """
select count(*) from rolecall.all_tasks
where finished_at is null and (role, state) <> ('analytics_refresh', 'pending')
"""
AT_WILL = 10_000.0


def app_for(upstream: LocalUpstream, folder: Path) -> App:
    return build_app(
        CrawlSettings(
            platforms={"dutchie": PlatformSettings(upstream=upstream.url)}, data_dir=folder, schedules=False, page_pause=0.001, backoff=0.001, retry_first=0.01,
            host_rate=AT_WILL, store_rate=AT_WILL, longest_retry_after=0.05, breaker_seconds=0.05, forbidden_limit=0,
        )
    )  # fmt: skip


async def run(app: App, database: str) -> None:
    await drain(app, database, WorkerOptions(slots=8, maintenance=False, poll_interval=0.2), timeout=150.0)


async def discover(app: App, database: str, connection: psycopg.Connection[Any]) -> None:
    options = WorkerOptions(slots=8, roles=("store_discovery",), maintenance=False, poll_interval=0.2)
    async with working(app, database, options), asyncio.timeout(150.0):
        while not value(connection, "select count(*) from rolecall.all_tasks where handler = 'product_discovery'"):
            await asyncio.sleep(0.05)


def value(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


@pytest.mark.usefixtures("direct_route")
async def test_every_store_is_refreshed_or_named_with_its_reason_at_maximum_failures(
    database: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    async with LocalUpstream(WORLD) as upstream:
        upstream.set_failures(MAXIMUM)
        app = app_for(upstream, tmp_path)
        enqueue(connection, app=app, handler="store_discovery")
        await run(app, database)

    gaps = find_gaps(connection)
    refreshed = value(connection, REFRESHED) or []
    known = value(connection, "select array_agg(id) from storecrawl.stores")
    assert sorted([*refreshed, *(each.store for each in gaps.stores)]) == sorted(known)
    assert len(known) == STORES or gaps.places
    assert value(connection, OPEN) == 0
    assert all(": " in each.reason for each in gaps.stores)


@pytest.mark.usefixtures("direct_route")
async def test_every_store_without_a_menu_is_named(
    database: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    async with LocalUpstream(WORLD) as upstream:
        app = app_for(upstream, tmp_path)
        enqueue(connection, app=app, handler="store_discovery")
        await discover(app, database, connection)
        upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.ERRORS: 1.0}))
        await run(app, database)

    gaps, figures = find_gaps(connection), read_figures(connection, list(app.roles))
    problems = list(find_problems(take_inventory(connection), gaps, figures, tmp_path, STORES))
    assert f"{STORES} of {STORES} stores were not refreshed" in problems
    why = re.compile(r"store \d+ \(.+\) was not refreshed: product_discovery \d+ failed: .*error of the upstream: .+")
    assert len([each for each in problems if why.fullmatch(each)]) == STORES
    assert not any("Traceback" in each or "\n" in each for each in problems)


def test_each_kind_of_gap_is_explained(connection: psycopg.Connection[Any], shop: Shop) -> None:
    forgotten, moved = shop.store(name="Forgotten", state=None), shop.store(name="Moved")
    shop.disable(shop.store(name="Closed"))
    connection.execute(
        "insert into storecrawl.locations (platform, platform_store_id, name, status, because, store_id, promoted_at, decided_at, decided_by)"
        " values ('dutchie', 'p1', 'Moved', 'needs_investigation', 'nobody has it', %s, now(), now(), 'task 9')",
        (moved,),
    )
    connection.execute(
        "insert into storecrawl.cities (platform, state, name, failures, failed_at, error)"
        " values ('dutchie', 'AZ', 'Mesa', 3, now(), 'HTTP 502')"
    )

    assert find_gaps(connection) == Gaps(
        stores=(
            UnrefreshedStore(store=forgotten, name="Forgotten", state=None, reason="no task of it is kept"),
            UnrefreshedStore(
                store=moved, name="Moved", state="AZ", reason="its id p1 needs investigation: nobody has it"
            ),
        ),
        places=(UnsearchedPlace(place="AZ/Mesa", reason="HTTP 502"),),
    )
