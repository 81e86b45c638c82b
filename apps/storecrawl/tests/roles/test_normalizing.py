"""A large menu is normalized in a process that the attempt's timeout kills, a small one in the worker."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest
from storecrawl.payloads import PayloadStore
from storecrawl.roles.payload_fetch import refresh_task
from storecrawl.roles.stored_menus import SMALL
from storecrawl.storage import FolderStorage

from apps.storecrawl.tests.menu_server import page, product
from rolecall import NewTask
from rolecall.testing import working

from .conftest import Crawl

ENDED = """
select state::text, error from rolecall.all_tasks where handler = 'product_refresh' and finished_at is not null
"""


def processes() -> list[psutil.Process]:
    """Return the process-handler children of this process's workers."""
    return [
        each for each in psutil.Process().children() if "rolecall.worker.subprocess.child" in " ".join(each.cmdline())
    ]


def payload(crawl: Crawl, folder: Path, products: int, options: int = 1) -> int:
    one = json.dumps(product("KEY", Options=["1g"] * options, recPrices=[20] * options))
    members = [one.replace("KEY", f"k{number}") for number in range(products)]
    written = PayloadStore(FolderStorage(folder)).write(1, page(*members), task_id=1, attempt=1)
    store = crawl.value(
        "insert into storecrawl.stores (platform, platform_store_id, name) values ('dutchie', 'x', 'Sun') returning id"
    )
    return int(crawl.value(
        "insert into storecrawl.payloads (store_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, sequence)"
        " values (%s, %s, %s, %s, %s, %s, now(), 1) returning id",
        store, written.path, len(members), written.size_raw, written.size_gz, written.sha256,
    ))  # fmt: skip


def refresh(crawl: Crawl, payload_id: int) -> NewTask:
    return refresh_task(crawl.value("select store_id from storecrawl.payloads where id = %s", payload_id), payload_id)


async def test_normalization_is_killed_at_its_timeout(crawl: Crawl, tmp_path: Path) -> None:
    """A thread would run forever and keep its worker from exiting."""
    too_large = payload(crawl, tmp_path / "payloads", products=8_000, options=200)
    crawl.enqueue(refresh(crawl, too_large).options(timeout=4.0, max_attempts=1))

    async with working(crawl.app, crawl.database):
        await crawl.until(processes)
        await crawl.until(lambda: crawl.rows(ENDED))
        alive = processes()

    [(state, error)] = crawl.rows(ENDED)
    assert (state, "did not finish within 4 s" in error, alive) == ("failed", True, [])


@pytest.mark.parametrize(("products", "has_process"), [(100, False), (10_000, True)], ids=["small", "large"])
async def test_only_a_large_menu_is_normalized_in_a_process(
    crawl: Crawl, tmp_path: Path, products: int, has_process: bool
) -> None:
    """A process that was started is reused."""
    menu = payload(crawl, tmp_path / "payloads", products)
    assert (crawl.value("select size_raw from storecrawl.payloads") > SMALL) is has_process
    crawl.enqueue(refresh(crawl, menu))

    async with working(crawl.app, crawl.database):
        await crawl.until(lambda: crawl.rows(ENDED))
        started = processes()

    assert (crawl.rows(ENDED), bool(started)) == ([("completed", None)], has_process)
    assert crawl.value("select count(*) from storecrawl.products") == products
