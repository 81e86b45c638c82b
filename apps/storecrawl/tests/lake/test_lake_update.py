"""The role lake: its tasks write marked days, remove old ones, and wait for a storage that is away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.health_checks import build_checks
from storecrawl.roles.crawler import Crawler
from storecrawl.settings import CrawlSettings

from apps.storecrawl.tests.lake.conftest import Lake
from rolecall import Client, NewTask, WorkerOptions
from rolecall.testing import drain

RESULTS = "select handler, state::text, result from rolecall.all_tasks where role = 'lake' order by handler, id"


@pytest.fixture
def settings(lake: Lake) -> CrawlSettings:
    return CrawlSettings(data_dir=lake.folder, lake=True, history_months=0, schedules=False, derive_pause=0.05)


async def update(settings: CrawlSettings, database: str) -> None:
    app = build_app(settings)
    with Client(database, app=app) as client:
        client.enqueue_many([NewTask(handler="lake_update")])
    await drain(app, database, WorkerOptions(roles=("analytics_refresh", "lake")), timeout=50.0)


async def test_update_writes_each_marked_day(
    lake: Lake, two_days: int, settings: CrawlSettings, database: str, connection: psycopg.AsyncConnection[Any]
) -> None:
    await update(settings, database)

    results = await (await connection.execute(RESULTS)).fetchall()
    assert [(handler, state) for handler, state, _ in results] == [
        ("lake_update", "completed"),
        ("write_lake_day", "completed"),
        ("write_lake_day", "completed"),
    ]
    assert results[0][2] == {"days": 2, "removed": 0}
    assert lake.rows("select count(*) from prices") == [(7,)]


async def test_days_that_are_too_old_are_removed(written: Lake, settings: CrawlSettings, database: str) -> None:
    await update(replace(settings, lake_keep_days=1), database)

    assert written.files() == []


async def test_days_beyond_the_histories_are_not_written(
    lake: Lake, two_days: int, settings: CrawlSettings, database: str
) -> None:
    await update(replace(settings, history_months=1), database)

    assert lake.files() == []


async def test_doctor_reports_prices_that_wait_for_several_rounds(
    lake: Lake, two_days: int, settings: CrawlSettings, connection: psycopg.AsyncConnection[Any]
) -> None:
    *_, check = build_checks(Crawler(settings))
    assert await check(connection) == []

    await connection.execute("update storecrawl.lake_marks set marked_at = marked_at - interval '13 hours'")

    [finding] = await check(connection)
    assert finding.problem.startswith("the lake lacks prices of 1 stores, the first since ")
