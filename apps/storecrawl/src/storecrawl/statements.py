"""SQL by name: files of named statements beside the code that asks for them, and the two ways to run one.

A file holds the statements of one noun. Each begins with its name, and what it does and returns stands below that:

    -- name: lock_store
    -- One refresh of a store at a time: the later one waits here.
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

__all__ = ["Connection", "Statements", "containing", "exact_json", "execute", "fetch", "json_text"]

_WITH_NUMBERS = msgspec.json.Encoder(decimal_format="number")
NAME = re.compile(r"^-- name:(.*)$", re.MULTILINE)

Connection = AsyncConnection[Any]
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one file, each an attribute: `STORES.lock_store`."""

    source: str
    texts: Mapping[str, bytes]

    @classmethod
    def of(cls, package: str, noun: str) -> Self:
        """Read `<noun>.sql` of a package. Raises ValueError for a file that is not one of named statements."""
        return cls.read(f"{noun}.sql", resources.files(package).joinpath(f"{noun}.sql").read_text("utf-8"))

    @classmethod
    def read(cls, source: str, text: str) -> Self:
        """Split a text at its names. Raises ValueError, which says what `source` has wrong."""
        before, *parts = NAME.split(text)
        if before.strip():
            raise ValueError(f"{source}: text before the first name")
        texts: dict[str, bytes] = {}
        for name, body in zip(map(str.strip, parts[::2]), map(str.strip, parts[1::2]), strict=True):
            if not name.isidentifier() or hasattr(cls, name):
                raise ValueError(f"{source}: {name!r} cannot be a name")
            if name in texts:
                raise ValueError(f"{source}: two statements are called {name}")
            if not body:
                raise ValueError(f"{source}: {name} is empty")
            texts[name] = body.encode()
        return cls(source, texts)

    def __getattr__(self, name: str) -> bytes:
        """The text of a statement. Raises AttributeError for a name that the file does not have."""
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
    """Run a statement in the caller's transaction and return the number of rows that it wrote."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(query, parameters)
        return cursor.rowcount


def json_text(value: object) -> str:
    """A parameter for jsonb: exact decimals as texts, moments in ISO form."""
    return msgspec.json.encode(value).decode()


def exact_json(value: object) -> str:
    """A parameter for jsonb that is kept as it is: exact decimals as numbers, which jsonb keeps exactly."""
    return _WITH_NUMBERS.encode(value).decode()


def containing(text: str | None) -> str | None:
    """A parameter for ilike that finds what holds this text, taken literally; None stays None."""
    if text is None:
        return None
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{literal}%"
