"""A database with two days of menus, and a lake in a folder or a bucket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from storecrawl.lake.days import PART, LakeDay, marked_days
from storecrawl.lake.engine import open_lake
from storecrawl.lake.writing import WrittenDay, write_day
from storecrawl.storage.locate import open_storage

from apps.storecrawl.tests.catalog.conftest import connection, make_menu, new_payload, new_store, query, refresh

__all__ = ["connection", "make_menu", "new_payload", "new_store", "query", "refresh"]

Refresh = Callable[..., Awaitable[Any]]
DAY = 24


class Lake:
    """A lake with its database: write the marked days, read all files."""

    def __init__(self, opened: psycopg.AsyncConnection[Any], url: str, folder: Path) -> None:
        self._connection = opened
        self.url = url
        self.folder = folder
        self.storage = open_storage(url, folder, PART)

    async def marked(self) -> list[LakeDay]:
        return await marked_days(self._connection)

    async def write(self) -> list[WrittenDay]:
        written = []
        for day in await self.marked():
            async with self._connection.transaction():
                written.append(await write_day(self._connection, self.storage, day))
        return written

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        with open_lake(self.url, self.folder) as lake:
            return lake.execute(text).fetchall()

    def files(self) -> list[str]:
        return sorted(each.path for each in self.storage.list())


@pytest.fixture
def lake(connection: psycopg.AsyncConnection[Any], tmp_path: Path) -> Lake:
    return Lake(connection, "", tmp_path)


@pytest.fixture(params=["folder", "bucket"])
def any_lake(request: pytest.FixtureRequest, connection: psycopg.AsyncConnection[Any], tmp_path: Path) -> Lake:
    url = request.getfixturevalue("bucket_url") if request.param == "bucket" else ""
    return Lake(connection, url, tmp_path)


@pytest.fixture
async def two_days(new_store: Any, refresh: Refresh, make_menu: Any) -> int:
    """Fetch a store three times on a day and once on the next; return its id."""
    store = int(await new_store("AZ"))
    options = {"Options": ["1g", "2g"], "recPrices": [20, 35], "recSpecialPrices": [15, None]}
    await refresh(store, 1, make_menu({"a": {"brandName": "Kite"}, "b": {"Name": 'Two\n"lines", THC'}}))
    await refresh(store, 5, make_menu({"a": {"recPrices": [30], "brandName": "Kite"}, "b": {}}))
    await refresh(store, 9, make_menu({"a": {"recPrices": [25], "brandName": "Kite"}, "c": options}))
    await refresh(store, DAY + 1, make_menu({"a": {"recPrices": [25], "brandName": "KITE"}, "c": options}))
    return store


@pytest.fixture
async def written(lake: Lake, two_days: int) -> Lake:
    await lake.write()
    return lake
