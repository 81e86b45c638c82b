"""A new migrated database per test, and shortcuts to fill it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest
import pytest_asyncio
from psycopg.rows import dict_row
from storecrawl.catalog import HeldMenu, RefreshReport, apply_menu, hold_menu, record_payload
from storecrawl.catalog.normalize import Menu, normalize
from storecrawl.payloads import WrittenPayload

START = datetime(2026, 5, 1, tzinfo=UTC)

Query = Callable[..., Awaitable[list[dict[str, Any]]]]


@pytest_asyncio.fixture
async def connection(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as opened:
        yield opened


@pytest.fixture
def query(connection: psycopg.AsyncConnection) -> Query:

    async def run(text: LiteralString, *parameters: object) -> list[dict[str, Any]]:
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(text, parameters)
            return await cursor.fetchall()

    return run


@pytest.fixture
def new_store(query: Query) -> Callable[..., Awaitable[int]]:

    async def make(
        state: str | None = None, last_fetch_at: datetime | None = None, *, crawl_enabled: bool = True
    ) -> int:
        rows = await query(
            "insert into storecrawl.stores (platform, platform_store_id, name, state, last_fetch_at, crawl_enabled)"
            " values ('dutchie', %s, 'A store', %s, %s, %s) returning id",
            secrets.token_hex(12),
            state,
            last_fetch_at,
            crawl_enabled,
        )
        return int(rows[0]["id"])

    return make


@pytest.fixture
def make_menu() -> Callable[..., Menu]:

    def make(products: Mapping[str, Mapping[str, object]] | Iterable[str], total: int | None = None) -> Menu:
        changes = products if isinstance(products, Mapping) else {key: {} for key in products}
        records = [
            {
                "_id": key,
                "Name": f"Product {key}",
                "Status": "Active",
                "Options": ["1g"],
                "recPrices": [20],
                **members,
            }
            for key, members in changes.items()
        ]
        count = len(records) if total is None else total
        return normalize({"data": {"filteredProducts": {"products": records, "queryInfo": {"totalCount": count}}}})

    return make


@pytest.fixture
def new_payload(connection: psycopg.AsyncConnection) -> Callable[..., Awaitable[int]]:
    """Insert a payload fetched `hour` hours after the start; return its id. The hour is also the fetch's number."""

    async def make(store_id: int, hour: int, product_count: int = 1, *, sequence: int | None = None) -> int:
        path = f"2026/05/01/store_{store_id}_1_1_{secrets.token_hex(8)}.json.zst"
        return await record_payload(
            connection,
            WrittenPayload(path=path, size_raw=2, size_gz=22, sha256="0" * 64),
            store_id=store_id,
            task_id=1,
            fetched_at=START + timedelta(hours=hour),
            product_count=product_count,
            sequence=hour if sequence is None else sequence,
        )

    return make


@pytest.fixture
def refresh(
    connection: psycopg.AsyncConnection, new_payload: Callable[..., Awaitable[int]]
) -> Callable[..., Awaitable[RefreshReport]]:
    """Apply a menu fetched at an hour, in a transaction, as a new payload or as the given one; hold it if refused."""

    async def run(store_id: int, hour: int, menu: Menu, payload_id: int | None = None) -> RefreshReport:
        payload = payload_id or await new_payload(store_id, hour, len(menu.products))
        try:
            async with connection.transaction():
                return await apply_menu(connection, payload, store_id, START + timedelta(hours=hour), menu)
        except HeldMenu as problem:
            await hold_menu(connection, payload, menu, problem)
            raise

    return run
