"""A database call as a value: what to send, and how to read what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, cast

import msgspec

from rolecall.telemetry import EventType

__all__ = [
    "where",
]

T = TypeVar("T")
Row = tuple[Any, ...]
# How columns that come as text are read, by the names of the fields.
Readers = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Generic[T]):
    """One SQL statement with its parameters, and the function that turns its rows into an answer.

    `tells` names the events that what it does may be, as far as its answer does not tell them. The parameters of a
    statement that `is_confidential` are never written into its text, which the server may log.
    """

    query: str
    params: tuple[object, ...] = ()
    read: Callable[[list[Row]], T]
    tells: frozenset[EventType] = frozenset()
    is_confidential: bool = False


def nothing(_rows: list[Row]) -> None:
    """Read an answer that says nothing."""


def single(rows: list[Row]) -> Any:
    """Read the one value of the one row; None where there is no row."""
    return rows[0][0] if rows else None


def firsts(rows: list[Row]) -> list[Any]:
    """Read the first column of all rows."""
    return [row[0] for row in rows]


def from_json(text: str | None) -> Any:
    """Read a column that came as JSON text."""
    return None if text is None else json.loads(text)


def prepared(shape: T) -> T:
    """Have msgspec work a type out now, while one thread runs, and return it; a decoder at the top of a module does so.

    Otherwise it does so at the first use, and two threads whose first use is the same moment crash the process
    (msgspec 0.22).
    """
    msgspec.json.Decoder(shape)
    return shape


def where(*conditions: tuple[str, object]) -> tuple[str, tuple[object, ...]]:
    """Join the conditions whose value is not None, and return their values in order."""
    given = [(condition, value) for condition, value in conditions if value is not None]
    return " and ".join(["true", *(condition for condition, _ in given)]), tuple(value for _, value in given)


def columns_of(kind: type, readers: Readers, table: str | None = None) -> str:
    """Name the columns of a dataclass, by its fields; those that have a reader come as text.

    `::text` also keeps the driver from decoding JSON, whatever loaders the connection has.
    """
    prefix = f"{table}." if table else ""
    return ", ".join(f"{prefix}{name}{'::text' if name in readers else ''}" for name in _names(kind))


def reader_of(kind: type[T], readers: Readers) -> Callable[[Row], T]:
    """Make what reads a row of `columns_of` as the dataclass."""
    places = [(place, readers[name]) for place, name in enumerate(_names(kind)) if name in readers]

    def read(row: Row) -> T:
        values = list(row)
        for place, reader in places:
            values[place] = reader(values[place])
        return kind(*values)

    return read


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(cast("Any", kind))]
