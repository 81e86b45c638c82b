"""What requests are made of: values with their bounds, the filter of tasks, and the cursors of lists.

Which tasks are meant is said with the same words in the query of a list and in the body of a bulk action.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from rolecall.model.errors import FilterError
from rolecall.model.insight import TaskFilter
from rolecall.model.pages import Page

__all__ = [
    "LARGEST_ID",
    "LONGEST_PAGE",
    "Blank",
    "Body",
    "BodyFilter",
    "Cursor",
    "Filter",
    "Id",
    "Limit",
    "Listing",
    "Moment",
    "PathId",
    "Patience",
    "Result",
    "SearchText",
    "Seconds",
    "ShortText",
    "TextCursor",
    "task_filter",
    "with_items",
]

# Up to here a JSON number is exact in every language; the sequences of the tables end here too.
LARGEST_ID = 2**53 - 1
LONGEST_PAGE = 500
LONGEST_DELAY = 3e9
MOST_IDS = 1_000
T = TypeVar("T")
S = TypeVar("S")


def _text(value: object) -> object:
    if isinstance(value, str | datetime):
        return value
    raise ValueError("a moment is a text such as 2026-01-31T12:00:00Z")


Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
PathId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
Limit = Annotated[int, Query(ge=1, le=LONGEST_PAGE, description="At most so many.")]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_DELAY)]
Patience = Annotated[float, Query(ge=0, le=30, description="How many seconds to wait at most.")]
SearchText = Annotated[str, Query(max_length=200)]
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
# A number would be taken for the seconds since 1970.
Moment = Annotated[AwareDatetime, BeforeValidator(_text), Field(strict=False)]

# Around a query's type: a form sends what nobody filled in as an empty text.
Blank = BeforeValidator(lambda value: None if value == "" else value)


class Body(BaseModel):
    """A JSON object with these fields and no other; `true` is no number, and a number is no text."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Result(Body):
    """What a completion leaves behind."""

    result: Any = None


class Filter(BaseModel):
    """What must hold of a task, all together; `status` is another word for `state`, and either takes both kinds.

    Of the times, `from` is included and `to` is not. `text` is looked for in
    handler, key, dedupe key, error and payload.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ids: Annotated[list[Id], Field(max_length=MOST_IDS)] | None = None
    state: ShortText | None = None
    status: ShortText | None = None
    role: ShortText | None = None
    handler: ShortText | None = None
    key: ShortText | None = None
    worker: Id | None = None
    chain: Id | None = None
    parent: Id | None = None
    roots: bool = False
    text: ShortText | None = None
    created_from: Moment | None = None
    created_to: Moment | None = None
    finished_from: Moment | None = None
    finished_to: Moment | None = None


class BodyFilter(Filter):
    """A filter as a JSON object."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Listing(Filter):
    """A filter, and which page of what it finds."""

    cursor: Annotated[ShortText, Field(description="The `next_cursor` of the page before.")] | None = None
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE)] = 50


def task_filter(given: Filter, *, cursor: str | None = None, limit: int = 50) -> TaskFilter:
    """Make the filter that the service takes. Raises FilterError."""
    if given.state and given.status:
        raise FilterError("state and status are the same filter: give one of them")
    words = given.model_dump(exclude={"status", "worker", "chain", "parent", "cursor", "limit"})
    words["state"] = given.state or given.status
    return TaskFilter(
        **words, worker_id=given.worker, chain_id=given.chain, parent_id=given.parent, cursor=cursor, limit=limit
    )


Cursor = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the page before.")]
# Of a list in the order of texts: of 200 characters, each may take four bytes.
TextCursor = Annotated[str | None, Query(max_length=1_100, description="The `next_cursor` of the page before.")]


def with_items(page: Page[S], view: Callable[[S], T]) -> Page[T]:
    """Show each item of a page another way."""
    return Page(items=list(map(view, page.items)), next_cursor=page.next_cursor)
