"""Changing menus, workers that count them, and the same figures computed directly from the products."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.catalog import apply_menu, record_payload
from storecrawl.catalog.normalize import normalize
from storecrawl.payloads import WrittenPayload
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from rolecall import Client, NewTask, WorkerOptions
from rolecall.testing import working

START = datetime(2026, 5, 1, tzinfo=UTC)
ROLE = "analytics_refresh"
USUAL = {"Status": "Active", "Options": ["1g"], "recPrices": [20], "type": "Flower", "brandName": "Kite"}

DERIVED = """
select brand.name, stores, products, in_stock, variants, lowest_cents, average_cents, highest_cents
from storecrawl.brand_statistics join storecrawl.brands as brand on brand.id = brand_id order by brand.name
"""
COUNTED_AFRESH = """
select brand.name, count(distinct store_id), count(distinct product.id),
    count(distinct product.id) filter (where product.in_stock), count(variant.id),
    min(cents), round(avg(cents))::int, max(cents)
from storecrawl.products as product
join storecrawl.brands as brand on brand.id = brand_id
left join storecrawl.variants as variant on variant.product_id = product.id and variant.listed
cross join lateral (select least(price_rec_cents, special_rec_cents) as cents) as paid
where availability <> 'removed_from_menu'
group by brand.name order by brand.name
"""
CATEGORIES = """
select store_id, category, products, in_stock, lowest_cents
from storecrawl.store_category_statistics order by store_id, category
"""
CATEGORIES_AFRESH = """
select store_id, coalesce(category, ''), count(distinct product.id),
    count(distinct product.id) filter (where product.in_stock), min(least(price_rec_cents, special_rec_cents))
from storecrawl.products as product
left join storecrawl.variants as variant on variant.product_id = product.id and variant.listed
where availability <> 'removed_from_menu'
group by 1, 2 order by 1, 2
"""


def menu(products: Mapping[str, Mapping[str, object]]) -> Any:
    records = [{"_id": key, "Name": f"Product {key}", **USUAL, **members} for key, members in products.items()]
    return normalize({"data": {"filteredProducts": {"products": records, "queryInfo": {"totalCount": len(records)}}}})


class Market:
    """Some stores, and the app that derives statistics from their menus."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self.dsn = dsn
        self.settings = CrawlSettings(
            platforms={"dutchie": PlatformSettings(upstream="http://127.0.0.1:9")}, data_dir=folder, schedules=False, derive_pause=0.05, lease=1.0,
            retry_first=0.1,
        )  # fmt: skip
        self.app = build_app(self.settings)

    def query(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def value(self, query: str, *parameters: object) -> Any:
        return self.query(query, *parameters)[0][0]

    def stores(self, number: int) -> list[int]:
        query = "insert into storecrawl.stores (platform, platform_store_id, name) values ('dutchie', %s, 'A store') returning id"
        return [self.value(query, secrets.token_hex(9)) for _ in range(number)]

    async def change(
        self, store_id: int, hour: int, connection: psycopg.AsyncConnection[Any] | None = None, **products: Any
    ) -> None:
        """Apply a menu and commit; or apply it in the caller's transaction."""
        if connection is not None:
            await self._apply(connection, store_id, hour, products)
            return
        async with await psycopg.AsyncConnection.connect(self.dsn) as own:
            await self._apply(own, store_id, hour, products)

    async def _apply(
        self, connection: psycopg.AsyncConnection[Any], store_id: int, hour: int, products: Mapping[str, Any]
    ) -> None:
        fetched_at = START + timedelta(hours=hour)
        path = f"2026/05/01/store_{store_id}_1_1_{secrets.token_hex(8)}.json.zst"
        written = WrittenPayload(path=path, size_raw=2, size_gz=22, sha256="0" * 64)
        payload_id = await record_payload(
            connection, written, store_id=store_id, task_id=1, fetched_at=fetched_at, product_count=len(products)
        )
        await apply_menu(connection, payload_id, store_id, fetched_at, menu(products))

    async def derive(self, *tasks: NewTask) -> None:
        if tasks:
            with Client(self.dsn, app=self.app) as client:
                client.enqueue_many(tasks)
        await self._work(WorkerOptions(roles=(ROLE,), slots=4, maintenance=False, poll_interval=0.2))

    async def recover(self) -> None:
        await self._work(WorkerOptions(roles=(ROLE,), slots=4, poll_interval=0.2))

    async def _work(self, options: WorkerOptions) -> None:
        """Work until nothing is open: after a slow round, the next one may be due later than a drain waits."""
        async with working(self.app, self.dsn, options):
            while self.value("select count(*) from rolecall.tasks"):
                await asyncio.sleep(0.05)

    def crash_worker(self, place: str) -> int:
        """Run a worker that dies, as by kill -9, at this point; return its exit code."""
        flags = ["--app", "storecrawl.app:app", "--roles", ROLE, "--database-url", self.dsn]
        return subprocess.run(
            [sys.executable, "-m", "rolecall", "worker", *flags],
            env={**os.environ, **self.settings.to_environment(), "ROLECALL_FAILPOINT": place},
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode

    def handlers(self) -> list[str]:
        query = "select handler from rolecall.all_tasks where role = %s order by started_at, id"
        return [handler for (handler,) in self.query(query, ROLE)]

    def wrong_figures(self) -> list[object]:
        """Return the derived figures that differ from the products."""
        return [
            (derived, afresh)
            for query, same in ((DERIVED, COUNTED_AFRESH), (CATEGORIES, CATEGORIES_AFRESH))
            if (derived := self.query(query)) != (afresh := self.query(same))
        ]


@pytest.fixture
def market(database: str, tmp_path: Path) -> Market:
    return Market(database, tmp_path)
