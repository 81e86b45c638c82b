"""payload_expiry deletes files according to the policy, except those still needed, and marks the rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.egress.repository import ensure_direct
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings
from storecrawl.storage.locate import open_storage

from apps.storecrawl.tests.conftest import Shop
from rolecall import Client, NewTask
from rolecall.testing import drain


class Keeper:
    """Payloads of several ages in hours, and those whose file remains after the expiry."""

    def __init__(self, shop: Shop, folder: Path, database: str, connection: psycopg.Connection[Any]) -> None:
        self.shop = shop
        self._now = datetime.now(UTC)
        self._folder = folder
        self._database = database
        self._connection = connection
        ensure_direct(connection)

    def payload(self, store: int, age: int, *, applied: bool = True) -> int:
        facts = {"applied_at": self._now, "applied_count": 1, "complete": True} if applied else {}
        return self.shop.payload(
            store, {}, hour=age, sequence=-age, fetched_at=self._now - timedelta(hours=age), **facts
        )

    async def expire(self, *open_tasks: NewTask, **policy: int) -> None:
        settings = CrawlSettings(
            platforms={"dutchie": PlatformSettings(upstream="http://127.0.0.1:9")},
            data_dir=self._folder,
            schedules=False,
            **policy,  # type: ignore[arg-type]  # the policy's two
        )
        app = build_app(settings)
        with Client(self._database, app=app) as client:
            client.enqueue_many([*open_tasks, NewTask(handler="payload_expiry")])
        await drain(app, self._database, timeout=50.0)

    def stored_payloads(self) -> list[int]:
        rows = self._connection.execute("select id, expired_at from storecrawl.payloads order by id").fetchall()
        files = {each for each, _ in rows if self.shop.file_of(each).exists()}
        assert files == {each for each, expired_at in rows if expired_at is None}
        return sorted(files)


@pytest.fixture
def keeper(shop: Shop, tmp_path: Path, database: str, connection: psycopg.Connection[Any]) -> Keeper:
    return Keeper(shop, tmp_path, database, connection)


async def test_month_and_ten_payloads_are_kept_by_default(keeper: Keeper) -> None:
    first, second = (keeper.shop.store() for _ in range(2))
    quiet = [keeper.payload(first, age) for age in range(1_011, 1_000, -1)]
    busy = [keeper.payload(second, age) for age in (30 * 24 + 1, *range(30 * 24 - 1, 30 * 24 - 12, -1))]

    await keeper.expire()

    assert keeper.stored_payloads() == [*quiet[1:], *busy[1:]]


async def test_newest_payloads_of_each_store_are_kept(keeper: Keeper) -> None:
    first, second = (keeper.shop.store() for _ in range(2))
    one = [keeper.payload(first, age) for age in (5, 4, 3, 2)]
    other = [keeper.payload(second, age) for age in (9, 8, 7)]

    await keeper.expire(keep_days=0, keep_last=3)

    assert keeper.stored_payloads() == [*one[1:], *other]


async def test_payloads_older_than_the_kept_days_expire(keeper: Keeper) -> None:
    store = keeper.shop.store()
    payloads = [keeper.payload(store, age) for age in (49, 47, 3, 2)]

    await keeper.expire(keep_days=2, keep_last=1)

    assert keeper.stored_payloads() == payloads[1:]


async def test_file_is_kept_if_either_rule_keeps_it(keeper: Keeper) -> None:
    store = keeper.shop.store()
    payloads = [keeper.payload(store, age) for age in (100, 90, 80, 3)]

    await keeper.expire(keep_days=2, keep_last=3)

    assert keeper.stored_payloads() == payloads[1:]


async def test_latest_two_payloads_for_comparison_are_kept_at_any_age(keeper: Keeper) -> None:
    store = keeper.shop.store()
    payloads = [keeper.payload(store, age) for age in (9_002, 9_001, 9_000)]

    await keeper.expire(keep_days=1, keep_last=1)

    assert keeper.stored_payloads() == payloads[1:]


async def test_unapplied_payload_is_kept(keeper: Keeper) -> None:
    """Nothing else is left of that fetch."""
    store = keeper.shop.store()
    unapplied = keeper.payload(store, 9_000, applied=False)
    newest = [keeper.payload(store, age) for age in (2, 1)]

    await keeper.expire(keep_days=0, keep_last=1)

    assert keeper.stored_payloads() == [unapplied, *newest]


async def test_payload_of_an_open_task_is_kept(keeper: Keeper) -> None:
    store = keeper.shop.store()
    payloads = [keeper.payload(store, age) for age in (4, 3, 2, 1)]
    later = datetime.now(UTC) + timedelta(hours=1)
    replay = NewTask(handler="product_refresh", payload={"payload_id": payloads[0]}, scheduled_for=later)

    await keeper.expire(replay, keep_days=0, keep_last=2)

    assert keeper.stored_payloads() == [payloads[0], *payloads[2:]]


async def test_already_deleted_file_is_marked(keeper: Keeper) -> None:
    """If the task crashes between removing a file and marking its row, the next run marks it."""
    store = keeper.shop.store()
    payloads = [keeper.payload(store, age) for age in (3, 2, 1)]
    keeper.shop.file_of(payloads[0]).unlink()

    await keeper.expire(keep_days=0, keep_last=1)

    assert keeper.stored_payloads() == payloads[1:]


async def test_file_that_a_newer_payload_needs_stays(keeper: Keeper, connection: psycopg.Connection[Any]) -> None:
    store = keeper.shop.store()
    payloads = [keeper.payload(store, age) for age in (4, 3, 2, 1)]
    shared, base, *_ = (keeper.shop.file_of(each) for each in payloads)
    connection.execute(
        "update storecrawl.payloads as newer set storage_path = older.storage_path, base_path = base.storage_path"
        " from storecrawl.payloads as older, storecrawl.payloads as base"
        " where newer.id = %s and older.id = %s and base.id = %s",
        (payloads[3], payloads[0], payloads[1]),
    )

    await keeper.expire(keep_days=0, keep_last=2)

    assert shared.exists()
    assert base.exists()
    expired = connection.execute("select id from storecrawl.payloads where expired_at is not null order by id")
    assert [each for (each,) in expired] == payloads[:2]


async def test_expired_payload_is_reported_as_gone_with_the_reason(
    keeper: Keeper, http: Any, make_document: Callable[..., dict[str, Any]]
) -> None:
    store = keeper.shop.store()
    payloads = [keeper.payload(store, age) for age in (3, 2, 1)]
    await keeper.expire(keep_days=0, keep_last=1)

    answer = await http.get(f"/api/payloads/{payloads[0]}/data")

    assert (answer.status_code, answer.json()["type"]) == (410, "urn:rolecall:payload-expired")
    assert "retention policy" in answer.json()["detail"]
    assert (await http.get(f"/api/payloads/{payloads[0]}")).json()["expired_at"] is not None


async def test_files_in_a_bucket_expire_too(
    keeper: Keeper, bucket_url: str, database: str, connection: psycopg.Connection[Any]
) -> None:
    storage = open_storage(bucket_url, Path(), "payloads")
    store = keeper.shop.store()
    for age in (3, 2, 1):
        storage.put(f"old/{age}", b"")
        keeper.shop.file_of(keeper.payload(store, age)).unlink()
        connection.execute(
            "update storecrawl.payloads set storage_path = %s where id = (select max(id) from storecrawl.payloads)",
            (f"old/{age}",),
        )

    await keeper.expire(keep_days=0, keep_last=1, store=bucket_url)  # type: ignore[arg-type]  # in addition to the policy

    assert sorted(each.path for each in storage.list()) == ["old/1", "old/2"]
