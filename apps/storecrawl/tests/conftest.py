"""Databases with the crawler's tables, and servers of the API over some stores with files."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import psycopg
import pytest
import zstandard
from psycopg.rows import dict_row
from storecrawl.app import build_app
from storecrawl.catalog import apply_menu, find_payload
from storecrawl.egress.repository import ensure_direct
from storecrawl.migrations import MIGRATIONS
from storecrawl.payloads import PayloadStore
from storecrawl.platforms.menus import read_menu
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings
from storecrawl.storage import FolderStorage

from apps.storecrawl.tests.buckets import BUCKET, serving_buckets
from rolecall import App, Client
from rolecall.db.migrations import ROLECALL
from rolecall.testing import TestServer, template
from tests.hangups import heeded_hangups
from tests.logs import restored_logging
from tests.loops import pytest_configure
from tests.web.doors import unguarded

__all__ = ["database_template", "heeded_hangups", "pytest_configure", "restored_logging"]

START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def database_template(postgres_server: TestServer) -> Iterator[str]:
    """Created here: the plugin's own template may already exist, with Rolecall's tables only."""
    with template(postgres_server, (ROLECALL, MIGRATIONS)) as name:
        yield name


@pytest.fixture(scope="session")
def bucket_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with serving_buckets(tmp_path_factory.mktemp("buckets")) as variables:
        yield variables


@pytest.fixture
def bucket_url(bucket_server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in bucket_server.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture
def direct_route(connection: psycopg.Connection[Any]) -> None:
    """Add the direct route: without an active route, workers do not start."""
    ensure_direct(connection)


@pytest.fixture
def app(tmp_path: Path) -> App:
    return build_app(
        CrawlSettings(
            platforms={"dutchie": PlatformSettings(upstream="http://127.0.0.1:9")}, data_dir=tmp_path, schedules=False
        )
    )


@pytest.fixture
async def http(database: str, app: App) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the API with the local token, which has all rights."""
    with Client(database, app=app) as client:
        client.cancel(client.enqueue("analytics_refresh").id)  # the first enqueue declares the app
    application = unguarded(database, app)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield client


class Shop:
    """Stores and payloads in the state that a crawl leaves, and the tasks that the API stored."""

    def __init__(self, connection: psycopg.Connection[Any], root: Path) -> None:
        self._connection = connection
        self.root = root

    def stores(self, number: int, *, state: str = "AZ", **columns: object) -> list[int]:
        return [self.store(name=f"Store {each}", state=state, **columns) for each in range(number)]

    def store(self, **columns: object) -> int:
        row = {
            "platform": "dutchie",
            "platform_store_id": None,
            "name": "A store",
            "state": "AZ",
            "slug": None,
            **columns,
        }
        row.setdefault("crawl_enabled", True)
        names = ", ".join(row)
        values = ", ".join(f"%({name})s" for name in row)
        query = f"insert into storecrawl.stores ({names}) values ({values}) returning id"
        store_id = self._value(query, row)
        if "platform_store_id" not in columns:
            self._connection.execute(
                "update storecrawl.stores set platform_store_id = 'p' || id where id = %s", (store_id,)
            )
        return int(store_id)

    def route(self, **columns: object) -> int:
        row = {"protocol": "http", "host": "127.0.0.1", "port": 9, **columns}
        return self._enter("routes", row)

    def block(self, store_id: int, because: str) -> None:
        self._connection.execute(
            "insert into storecrawl.blocked_stores (store_id, blocked_until, because) values (%s, '2100-01-01', %s)",
            (store_id, because),
        )

    def disable(self, store_id: int) -> None:
        self._connection.execute("update storecrawl.stores set crawl_enabled = false where id = %s", (store_id,))

    def enable(self, store_id: int) -> None:
        self._connection.execute("update storecrawl.stores set crawl_enabled = true where id = %s", (store_id,))

    def payload(self, store_id: int, document: object, hour: int = 0, **columns: object) -> int:
        """Write a file and its row; `columns` override the row's true values."""
        raw = document if isinstance(document, bytes) else msgspec.json.encode(document)
        file = self._file(raw, f"store_{store_id}_1_1_{hour:016x}.json.zst")
        row = {"store_id": store_id, "product_count": 1, "sequence": hour, **file}
        row |= {"fetched_at": START + timedelta(hours=hour), **columns}
        return self._enter("payloads", row)

    def raw_menu(self, store_id: int, document: bytes, **columns: object) -> int:
        file = self._file(document, f"store_{store_id}_1_1_{secrets.token_hex(8)}.raw.zst")
        return self._enter("raw_menus", {"store_id": store_id, "fetched_at": START, **file, **columns})

    def refusal(self, store_id: int, payload_id: int, **columns: object) -> int:
        return self._enter("refusals", {"store_id": store_id, "payload_id": payload_id, "record_index": 0, **columns})

    def _file(self, content: bytes, name: str) -> dict[str, object]:
        packed = zstandard.compress(content, 1)
        file = self.root / "2026" / "05" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed)
        return {
            "storage_path": file.relative_to(self.root).as_posix(),
            "size_raw": len(content),
            "size_gz": len(packed),
            "sha256": hashlib.sha256(content).hexdigest(),
        }

    def _enter(self, table: str, row: dict[str, object]) -> int:
        names, values = ", ".join(row), ", ".join(f"%({name})s" for name in row)
        return int(self._value(f"insert into storecrawl.{table} ({names}) values ({values}) returning id", row))

    def location(self, **columns: object) -> int:
        row = {
            "platform": "dutchie",
            "platform_store_id": secrets.token_hex(12),
            "name": "A place",
            "slug": "a-place",
            "state": "AZ",
            **columns,
        }
        return self._enter("locations", row)

    def city(self, **columns: object) -> int:
        row = {"platform": "dutchie", "state": "AZ", "name": "Phoenix", **columns}
        return self._enter("cities", row)

    def file_of(self, payload_id: int) -> Path:
        return self.root / str(self._value("select storage_path from storecrawl.payloads where id = %s", (payload_id,)))

    def tasks(self, handler: str) -> list[dict[str, Any]]:
        query = "select * from rolecall.all_tasks where handler = %s and finished_at is null order by id"
        with self._connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, (handler,)).fetchall()

    def _value(self, query: str, parameters: Any) -> Any:
        row = self._connection.execute(query.encode(), parameters).fetchone()
        assert row is not None
        return row[0]


@pytest.fixture
def shop(connection: psycopg.Connection[Any], tmp_path: Path) -> Shop:
    return Shop(connection, tmp_path / "payloads")


@pytest.fixture
def make_document() -> Callable[..., dict[str, Any]]:

    def make(**products: dict[str, Any]) -> dict[str, Any]:
        usual = {"Status": "Active", "Options": ["1g"], "recPrices": [20], "type": "Flower"}
        records = [{"_id": key, "Name": f"Product {key}", **usual, **changes} for key, changes in products.items()]
        return {"data": {"filteredProducts": {"products": records, "queryInfo": {"totalCount": len(records)}}}}

    return make


@pytest.fixture
def apply(database: str, shop: Any, make_document: Callable[..., dict[str, Any]]) -> Callable[..., Awaitable[int]]:
    """Return a function that stores and applies a payload, as a crawl does, and returns its id."""

    async def run(store_id: int, hour: int, **products: dict[str, Any]) -> int:
        payload_id: int = shop.payload(store_id, make_document(**products), hour=hour, product_count=len(products))
        async with await psycopg.AsyncConnection.connect(database) as connection:
            payload = await find_payload(connection, payload_id)
            menu = read_menu(PayloadStore(FolderStorage(shop.root)), payload)
            await apply_menu(connection, payload_id, store_id, payload.fetched_at, menu)
        return payload_id

    return run
