"""The kinds of values that requests about stores hold, beside those of Rolecall: strict, and within bounds."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, BeforeValidator, Field

from rolecall.web import Id, Moment

__all__ = [
    "STATE",
    "Cursor",
    "Day",
    "Priority",
    "QueryId",
    "SearchText",
    "Start",
    "State",
    "StateCode",
    "StoreIds",
    "plain_text",
]

LATEST = datetime(2200, 1, 1, tzinfo=UTC)
MOST_STORES = 1_000
STATE = r"^[A-Za-z]{2}$"


def _day(value: object) -> date:
    # A number, or a text of one, would be taken for the seconds since 1970.
    if not isinstance(value, str):
        raise ValueError("a day is a text such as 2026-01-31")  # noqa: TRY004 - pydantic makes a refusal of this one
    return date.fromisoformat(value)


def _in_range(moment: datetime) -> datetime:
    if moment > LATEST:
        raise ValueError(f"it is after {LATEST:%Y-%m-%d}")
    return moment


def plain_text(text: str | None) -> str | None:
    if text is not None and any(letter == "\x00" or "\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it holds what is no character")
    return text


QueryId = Annotated[Id | None, Query()]
Cursor = Annotated[str | None, Query(max_length=100, description="The `next_cursor` of the page before.")]
State = Annotated[str | None, Query(pattern=STATE, description="A state's two letters.")]
SearchText = Annotated[str | None, Query(min_length=1, max_length=100), AfterValidator(plain_text)]

StoreIds = Annotated[list[Id], Field(min_length=1, max_length=MOST_STORES)]
StateCode = Annotated[str, Field(pattern=STATE)]
Priority = Annotated[int | None, Field(ge=-100, le=100, description="The higher, the sooner.")]
Day = Annotated[date, BeforeValidator(_day), Field(strict=False)]
Start = Annotated[Moment, AfterValidator(_in_range)]
