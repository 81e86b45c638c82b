"""Tasks enqueued by a demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.demo.requests import enqueue, retry_failed
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from rolecall import App, Client
from rolecall.testing import drain

STATES = "select state::text, count(*) from rolecall.all_tasks group by 1 order by 1"


@pytest.fixture
def app(tmp_path: Path) -> App:
    return build_app(
        CrawlSettings(
            platforms={"dutchie": PlatformSettings(upstream="http://127.0.0.1:1")}, data_dir=tmp_path, schedules=False
        )
    )


@pytest.mark.usefixtures("direct_route")
async def test_permanently_failed_tasks_are_retried_by_the_next_demo(
    app: App, database: str, connection: psycopg.Connection[Any]
) -> None:
    with Client(database, app=app) as client:
        client.enqueue("product_refresh", {"payload_id": 1}, max_attempts=1)
    await drain(app, database)
    assert connection.execute(STATES).fetchall() == [("failed", 1)]

    retry_failed(connection, app=app)

    assert connection.execute(STATES).fetchall() == [("pending", 1)]


def test_open_task_of_an_earlier_demo_is_reused(app: App, connection: psycopg.Connection[Any]) -> None:
    first = enqueue(connection, app=app, handler="store_discovery")
    second = enqueue(connection, app=app, handler="store_discovery")

    assert second.id == first.id
