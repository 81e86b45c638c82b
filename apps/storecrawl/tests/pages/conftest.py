"""Stores with applied payloads, as a crawl leaves them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import apply_menu, find_payload
from storecrawl.payloads import PayloadStore
from storecrawl.platforms.menus import read_menu
from storecrawl.storage import FolderStorage

from .hostile import hostile_paths

Apply = Callable[..., Awaitable[int]]


@pytest.fixture
def apply(database: str, shop: Any, make_document: Callable[..., dict[str, Any]]) -> Apply:

    async def run(store_id: int, hour: int, **products: dict[str, Any]) -> int:
        payload_id: int = shop.payload(store_id, make_document(**products), hour=hour, product_count=len(products))
        async with await psycopg.AsyncConnection.connect(database) as connection:
            payload = await find_payload(connection, payload_id)
            menu = read_menu(PayloadStore(FolderStorage(shop.root)), payload)
            await apply_menu(connection, payload_id, store_id, payload.fetched_at, menu)
        return payload_id

    return run


@pytest.fixture
def open_hostile_shop(
    connection: psycopg.Connection[Any], shop: Any, apply: Apply
) -> Callable[[], Awaitable[list[str]]]:

    def first_of(table: str) -> int:
        row = connection.execute(f"select min(id) from storecrawl.{table}".encode()).fetchone()
        assert row is not None
        return int(row[0])

    return partial(hostile_paths, shop, apply, first_of)
