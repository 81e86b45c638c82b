"""Pages over HTTP: a list's rows, and the cursor that asks for those after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Query

from rolecall.model.pages import Page

__all__ = ["Cursor", "TextCursor", "with_items"]

T = TypeVar("T")
S = TypeVar("S")

Cursor = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the page before.")]
# Of a list in the order of texts: of 200 characters, each may take four bytes.
TextCursor = Annotated[str | None, Query(max_length=1_100, description="The `next_cursor` of the page before.")]


def with_items(page: Page[S], view: Callable[[S], T]) -> Page[T]:
    """Show each item of a page another way."""
    return Page(items=list(map(view, page.items)), next_cursor=page.next_cursor)
