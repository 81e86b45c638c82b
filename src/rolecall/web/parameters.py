"""What requests are made of: values with their bounds, bodies, and the cursors of lists."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from rolecall.model.errors import FilterError
from rolecall.model.pages import Page
from rolecall.web.second_names import MARK

__all__ = [
    "LARGEST_ID",
    "LONGEST_PAGE",
    "Blank",
    "Body",
    "Cursor",
    "Id",
    "Limit",
    "Moment",
    "OpenBody",
    "PathId",
    "Patience",
    "Result",
    "SearchText",
    "Seconds",
    "ShortText",
    "TextCursor",
    "agreed",
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


class OpenBody(Body):
    """The same, which takes the second names that the app has too; whoever reads it refuses what is none."""

    model_config = ConfigDict(extra="allow", json_schema_extra={MARK: True})


class Result(Body):
    """What a completion leaves behind."""

    result: Any = None


Cursor = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the page before.")]
# Of a list in the order of texts: of 200 characters, each may take four bytes.
TextCursor = Annotated[str | None, Query(max_length=1_100, description="The `next_cursor` of the page before.")]


def agreed(name: str, value: T | None, other_name: str, other: T | None) -> T | None:
    """Return what two words for the same thing say. Raises FilterError where they differ."""
    if value is not None and other is not None and value != other:
        raise FilterError(f"{name} and {other_name} are the same, and say different things")
    return other if value is None else value


def with_items(page: Page[S], view: Callable[[S], T]) -> Page[T]:
    """Show each item of a page another way."""
    return Page(items=list(map(view, page.items)), next_cursor=page.next_cursor)
