"""Normalizing takes place in a process, which dies with the attempt's timeout, whatever strangers wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from storecrawl.payloads import PayloadStore
from storecrawl.storage import FolderStorage

from apps.storecrawl.tests.menu_server import page, product
from rolecall import NewTask
from rolecall.testing import working

from .conftest import Crawl


def processes() -> list[psutil.Process]:
    """The processes that workers of this process have started for what can be killed."""
    return [each for each in psutil.Process().children() if "rolecall.worker.child" in " ".join(each.cmdline())]


@pytest.fixture
def payload(crawl: Crawl, connection: psycopg.Connection[Any], tmp_path: Path) -> int:
    """A payload so large that nobody normalizes it within the timeout of its task."""
    one = json.dumps(product("KEY", Options=["1g"] * 200, recPrices=[20] * 200))
    members = [one.replace("KEY", f"k{number}") for number in range(8_000)]
    written = PayloadStore(FolderStorage(tmp_path / "payloads")).write(1, page(*members), task_id=1, attempt=1)
    store = crawl.value("insert into storecrawl.stores (platform_store_id, name) values ('x', 'Sun') returning id")
    return int(crawl.value(
        "insert into storecrawl.payloads (store_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at)"
        " values (%s, %s, %s, %s, %s, %s, now()) returning id",
        store, written.path, len(members), written.size_raw, written.size_gz, written.sha256,
    ))  # fmt: skip


async def test_normalizing_is_killed_by_its_timeout(crawl: Crawl, payload: int) -> None:
    """A thread would go on for ever, and hold its worker's end up."""
    refresh = NewTask(handler="product_refresh", payload={"payload_id": payload}, timeout=4.0, max_attempts=1)
    crawl.enqueue(refresh)

    async with working(crawl.app, crawl.database):
        await crawl.until(processes)
        await crawl.until(
            lambda: crawl.rows(
                "select from rolecall.all_tasks where finished_at is not null and handler = 'product_refresh'"
            )
        )
        alive = processes()

    state, error = crawl.rows("select state::text, error from rolecall.all_tasks where handler = 'product_refresh'")[0]
    assert (state, "did not finish within 4 s" in error, alive) == ("failed", True, [])
