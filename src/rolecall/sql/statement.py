"""A database call as a value: what to send, and how to read what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = [
    "where",
]

T = TypeVar("T")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Generic[T]):
    """One SQL statement with its parameters, and the function that turns its rows into an answer."""

    query: str
    params: tuple[object, ...] = ()
    read: Callable[[list[Row]], T]


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


def by_first_column(rows: list[Row]) -> dict[Any, Any]:
    """Read two columns as a mapping."""
    return dict(rows)


def where(*conditions: tuple[str, object]) -> tuple[str, tuple[object, ...]]:
    """Join the conditions whose value is not None, and return their values in order."""
    given = [(condition, value) for condition, value in conditions if value is not None]
    return " and ".join(["true", *(condition for condition, _ in given)]), tuple(value for _, value in given)
