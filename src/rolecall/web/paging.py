"""Pages over HTTP: a list's rows, and the cursor that asks for those after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from rolecall.model.pages import Page, read_cursor, write_cursor

__all__ = ["Cursor", "TextCursor", "page_by_id", "position", "with_items"]

T = TypeVar("T")
S = TypeVar("S")

Cursor = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the page before.")]
# Of a list in the order of texts: of 200 characters, each may take four bytes.
TextCursor = Annotated[str | None, Query(max_length=1_100, description="The `next_cursor` of the page before.")]


def position(cursor: str | None) -> int | None:
    """Read the id that a page goes on from. Raises InvalidCursor."""
    return None if cursor is None else read_cursor(cursor)


def page_by_id(rows: Sequence[T], limit: int, id_of: Callable[[T], int]) -> Page[T]:
    """Make a page of rows that were asked for with one more than the limit: that one tells whether there is more."""
    items = list(rows[:limit])
    return Page(items=items, next_cursor=write_cursor(id_of(items[-1])) if len(rows) > limit else None)


def with_items(page: Page[S], view: Callable[[S], T]) -> Page[T]:
    """Show each item of a page another way."""
    return Page(items=list(map(view, page.items)), next_cursor=page.next_cursor)
