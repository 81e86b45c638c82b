"""Named SQL statements in files next to the code that uses them, and functions to run them.

A file contains the statements of one noun. Each starts with its name, followed by a description:

    -- name: lock_store
    -- Run one refresh of a store at a time: a second one waits here.
    select ...

    STORES = Statements.of("storecrawl.catalog.sql", "stores")
    await fetch(connection, STORES.lock_store, {"store_id": 7}, scalar_row)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Self, TypeVar

import msgspec
from psycopg import AsyncConnection
from psycopg.rows import BaseRowFactory, tuple_row

_WITH_NUMBERS = msgspec.json.Encoder(decimal_format="number")
NAME = re.compile(r"^-- name:(.*)$", re.MULTILINE)

Connection = AsyncConnection[Any]
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one file as attributes: `STORES.lock_store`."""

    source: str
    texts: Mapping[str, bytes]

    @classmethod
    def of(cls, package: str, noun: str) -> Self:
        """Read `<noun>.sql` of a package. Raises ValueError if it is not a file of named statements."""
        return cls.read(f"{noun}.sql", resources.files(package).joinpath(f"{noun}.sql").read_text("utf-8"))

    @classmethod
    def read(cls, source: str, text: str) -> Self:
        """Split a text at its names. Raises ValueError with the problem in `source`."""
        before, *parts = NAME.split(text)
        if before.strip():
            raise ValueError(f"{source}: text before the first name")
        texts: dict[str, bytes] = {}
        for name, body in zip(map(str.strip, parts[::2]), map(str.strip, parts[1::2]), strict=True):
            if not name.isidentifier() or hasattr(cls, name):
                raise ValueError(f"{source}: {name!r} is not a valid name")
            if name in texts:
                raise ValueError(f"{source}: two statements are named {name}")
            if not body:
                raise ValueError(f"{source}: {name} is empty")
            texts[name] = body.encode()
        return cls(source, texts)

    def __getattr__(self, name: str) -> bytes:
        """Return a statement's text. Raises AttributeError if the file has no such name."""
        try:
            return self.texts[name]
        except KeyError:
            raise AttributeError(f"{self.source} has no statement {name}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)


async def fetch(
    connection: Connection, query: bytes, parameters: Mapping[str, object], rows: BaseRowFactory[Row]
) -> list[Row]:
    """Run a statement in the caller's transaction and return its rows."""
    async with connection.cursor(row_factory=rows) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


async def execute(connection: Connection, query: bytes, parameters: Mapping[str, object]) -> int:
    """Run a statement in the caller's transaction and return the number of written rows."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(query, parameters)
        return cursor.rowcount


def json_text(value: object) -> str:
    """Return a value for a jsonb parameter: exact decimals as texts, times in ISO form."""
    return msgspec.json.encode(value).decode()


def exact_json(value: object) -> str:
    """Return a value for a jsonb parameter with exact decimals as numbers, which jsonb stores exactly."""
    return _WITH_NUMBERS.encode(value).decode()


def containing_pattern(text: str | None) -> str | None:
    """Return a pattern for ilike that matches texts containing this one literally; None stays None."""
    if text is None:
        return None
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{literal}%"
