"""Types of request parameters with their limits, base classes of bodies, and cursors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from rolecall.model.errors import FilterError
from rolecall.model.operator.pages import Page
from rolecall.web.fields.aliases import MARK

# The largest integer that JSON numbers represent exactly in every language; also the end of the tables' sequences.
LARGEST_ID = 2**53 - 1
LONGEST_PAGE = 500
LONGEST_DELAY = 3e9
MOST_IDS = 1_000
T = TypeVar("T")
S = TypeVar("S")


def _text(value: object) -> object:
    if isinstance(value, str | datetime):
        return value
    raise ValueError("a time must be a text such as 2026-01-31T12:00:00Z")


Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
PathId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
Limit = Annotated[int, Query(ge=1, le=LONGEST_PAGE, description="The maximum number of items.")]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_DELAY)]
Patience = Annotated[float, Query(ge=0, le=30, description="The maximum number of seconds to wait.")]
SearchText = Annotated[str, Query(max_length=200)]
Rate = Annotated[float, Field(ge=0.01, le=10_000, description="Tasks a second.")]
Delay = Annotated[float, Field(ge=0, le=86_400, description="Seconds until it starts. Until then it can be withdrawn.")]
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
# Names of roles or handlers, separated by commas.
Names = Annotated[str, Field(min_length=1, max_length=8_000)]
# A number would be parsed as seconds since 1970.
Moment = Annotated[AwareDatetime, BeforeValidator(_text), Field(strict=False)]

# For query parameters: forms send an empty text for a field left blank.
Blank = BeforeValidator(lambda value: None if value == "" else value)


class Body(BaseModel):
    """A JSON object without unknown fields, in strict mode: `true` is not a number, and a number is not a text."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class OpenBody(Body):
    """A body that also accepts field aliases. The code that reads it rejects unknown fields."""

    model_config = ConfigDict(extra="allow", json_schema_extra={MARK: True})


class Result(Body):
    """The result of a task that is completed from outside."""

    result: Any = None


Cursor = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the previous page.")]
# For lists sorted by a text: up to 200 characters of four bytes each.
TextCursor = Annotated[str | None, Query(max_length=1_100, description="The `next_cursor` of the previous page.")]


def agreed(name: str, value: T | None, other_name: str, other: T | None) -> T | None:
    """Return the value that was given under one of two names. Raises FilterError if they differ."""
    if value is not None and other is not None and value != other:
        raise FilterError(f"{name} and {other_name} are the same parameter, but have different values")
    return other if value is None else value


def with_items(page: Page[S], view: Callable[[S], T]) -> Page[T]:
    """Convert each item of a page."""
    return Page(items=list(map(view, page.items)), next_cursor=page.next_cursor)
