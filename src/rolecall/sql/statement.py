"""A database call as a value: the query, its parameters, and a function that reads the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, cast

import msgspec

from rolecall.telemetry import EventType

T = TypeVar("T")
Row = tuple[Any, ...]
# Readers of the columns that are selected as text, by field name.
Readers = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Generic[T]):
    """One SQL statement with its parameters, and the function that turns its rows into a result.

    `event_kinds` are the kinds of events that it may cause in addition to its result. The parameters of a statement
    that `is_confidential` are never written into its text, which the server may log. The `check` is a query that runs
    first, and raises for parameters that the database would reject.
    """

    query: str
    params: tuple[object, ...] = ()
    read: Callable[[list[Row]], T]
    event_kinds: frozenset[EventType] = frozenset()
    is_confidential: bool = False
    check: Statement[None] | None = None


def ignore_rows(_rows: list[Row]) -> None:
    """Ignore the rows."""


def single(rows: list[Row]) -> Any:
    """Return the one value of the one row; None if there is no row."""
    return rows[0][0] if rows else None


def firsts(rows: list[Row]) -> list[Any]:
    """Return the first column of all rows."""
    return [row[0] for row in rows]


def from_json(text: str | None) -> Any:
    """Decode a column that was selected as JSON text."""
    return None if text is None else json.loads(text)


def compiled(shape: T) -> T:
    """Return a type after msgspec has compiled it. Call this, or create a decoder, when the module is imported.

    msgspec 0.22 otherwise compiles a type at its first use, and crashes the process if two threads do so at once.
    """
    msgspec.json.Decoder(shape)
    return shape


def where(*conditions: tuple[str, object]) -> tuple[str, tuple[object, ...]]:
    """Join the conditions whose value is not None, and return their values in order."""
    given = [(condition, value) for condition, value in conditions if value is not None]
    return " and ".join(["true", *(condition for condition, _ in given)]), tuple(value for _, value in given)


def columns_of(kind: type, readers: Readers, table: str | None = None) -> str:
    """Return the column list of a dataclass, by its fields; those with a reader are selected as text.

    `::text` also keeps the driver from decoding JSON, whatever loaders the connection has.
    """
    prefix = f"{table}." if table else ""
    return ", ".join(f"{prefix}{name}{'::text' if name in readers else ''}" for name in _names(kind))


def reader_of(kind: type[T], readers: Readers) -> Callable[[Row], T]:
    """Return a function that converts a row of `columns_of` into the dataclass."""
    places = [(place, readers[name]) for place, name in enumerate(_names(kind)) if name in readers]

    def read(row: Row) -> T:
        values = list(row)
        for place, reader in places:
            values[place] = reader(values[place])
        return kind(*values)

    return read


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(cast("Any", kind))]
