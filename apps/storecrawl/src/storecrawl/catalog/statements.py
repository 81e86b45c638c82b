"""The SQL of the catalog: one statement a file in `sql/`, and the two ways to run one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import msgspec
from psycopg import AsyncConnection
from psycopg.rows import BaseRowFactory, tuple_row

Connection = AsyncConnection[Any]
Row = TypeVar("Row")


@cache
def statement(name: str) -> bytes:
    """The text of `sql/<name>.sql`."""
    return resources.files("storecrawl.catalog").joinpath("sql", f"{name}.sql").read_bytes()


async def fetch(
    connection: Connection, name: str, parameters: Mapping[str, object], rows: BaseRowFactory[Row]
) -> list[Row]:
    """Run a statement in the caller's transaction and return its rows."""
    async with connection.cursor(row_factory=rows) as cursor:
        await cursor.execute(statement(name), parameters)
        return await cursor.fetchall()


async def execute(connection: Connection, name: str, parameters: Mapping[str, object]) -> int:
    """Run a statement in the caller's transaction and return the number of rows that it wrote."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(statement(name), parameters)
        return cursor.rowcount


def json_text(value: object) -> str:
    """A parameter for jsonb: exact decimals as texts, moments in ISO form."""
    return msgspec.json.encode(value).decode()


def containing(text: str | None) -> str | None:
    """A parameter for ilike that finds what holds this text, taken literally; None stays None."""
    if text is None:
        return None
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{literal}%"
