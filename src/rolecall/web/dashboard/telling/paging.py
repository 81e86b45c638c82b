"""Lists that are read whole and shown a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import Query

__all__ = ["Page", "PageNumber", "page_of"]

T = TypeVar("T")
PageNumber = Annotated[int, Query(ge=1, le=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """What of a list stands on one page; pages are counted from 1."""

    items: Sequence[T]
    number: int
    pages: int
    total: int


def page_of(items: Sequence[T], number: int, size: int) -> Page[T]:
    """Pick a page of so many items: the last one where there are fewer pages."""
    pages = max(1, -(-len(items) // size))
    number = min(number, pages)
    return Page(items=items[(number - 1) * size : number * size], number=number, pages=pages, total=len(items))
