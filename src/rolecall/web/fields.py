"""The values that requests are made of, each with its bounds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "LARGEST_ID",
    "LONGEST_PAGE",
    "Blank",
    "Body",
    "Id",
    "Limit",
    "Moment",
    "PathId",
    "Patience",
    "Result",
    "SearchText",
    "Seconds",
    "ShortText",
]

# Up to here a JSON number is exact in every language; the sequences of the tables end here too.
LARGEST_ID = 2**53 - 1
LONGEST_PAGE = 500
LONGEST_DELAY = 3e9


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
