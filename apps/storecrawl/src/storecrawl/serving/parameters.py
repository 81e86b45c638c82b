"""Types of parameters in requests about stores, in addition to Rolecall's: strict and within limits.

Platforms have names in the API's paths.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, BeforeValidator, Field

from rolecall.web import Connects, Id, Moment, PathId, RequestRefused, agreed
from storecrawl.catalog.discovery import find_location
from storecrawl.platforms.registry import PLATFORMS
from storecrawl.serving.refusals import catalog_errors_as_problems

T = TypeVar("T")

LATEST = datetime(2200, 1, 1, tzinfo=UTC)
MOST_STORES = 1_000
STATE = r"^[A-Za-z]{2}$"
QueryId = Annotated[Id | None, Query()]
Cursor = Annotated[str | None, Query(max_length=100, description="The `next_cursor` of the previous page.")]
State = Annotated[str | None, Query(pattern=STATE, description="The two-letter code of a state.")]
StoreIds = Annotated[list[Id], Field(min_length=1, max_length=MOST_STORES)]
StateCode = Annotated[str, Field(pattern=STATE)]
Priority = Annotated[int | None, Field(ge=-100, le=100, description="A higher priority runs earlier.")]
# The names of platforms in paths of old programs.
OLD_NAMES = {"dt": "dutchie"}


def _day(value: object) -> date:
    # Otherwise a number, or a text with one, would be parsed as seconds since 1970.
    if not isinstance(value, str):
        raise ValueError("a day must be a text such as 2026-01-31")  # noqa: TRY004 - pydantic converts it to a validation error
    return date.fromisoformat(value)


def _in_range(moment: datetime) -> datetime:
    if moment > LATEST:
        raise ValueError(f"must not be after {LATEST:%Y-%m-%d}")
    return moment


def plain_text(text: str | None) -> str | None:
    if text is not None and any(letter == "\x00" or "\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it contains invalid characters")
    return text


SearchText = Annotated[str | None, Query(min_length=1, max_length=100), AfterValidator(plain_text)]

Day = Annotated[date, BeforeValidator(_day), Field(strict=False)]
Start = Annotated[Moment, AfterValidator(_in_range)]
QueryTime = Annotated[Start | None, Query()]


def one_of(name: str, value: T | None, other_name: str, other: T | None) -> T:
    """Return a required value given by either of two names. Raises RequestRefused if missing, FilterError."""
    value_given = agreed(name, value, other_name, other)
    if value_given is None:
        raise RequestRefused(f"{name} (or {other_name}) is missing", status=422, kind="invalid-request")
    return value_given


def _known_platform(name: str | None) -> str | None:
    if name is not None and name not in PLATFORMS:
        raise ValueError(f"must be one of {', '.join(PLATFORMS)}")
    return name


def _platform(
    platform: Annotated[str, Path(max_length=20, description=f"One of {', '.join(PLATFORMS)}.")],
) -> str:
    name = OLD_NAMES.get(platform, platform)
    if name not in PLATFORMS:
        raise RequestRefused(f"no platform named {platform!r}", status=404, kind="platform-not-found")
    return name


PlatformName = Annotated[str | None, AfterValidator(_known_platform)]
OnlyPlatform = Annotated[str | None, Query(description="Only this platform."), AfterValidator(_known_platform)]
Platform = Annotated[str, Depends(_platform)]


async def _location_id(platform: Platform, location_id: PathId, connects: Connects) -> int:
    with catalog_errors_as_problems():
        async with connects() as connection:
            location = await find_location(connection, location_id)
    if location.platform != platform:
        kind = "location-not-found"
        raise RequestRefused(f"no location {location_id} of platform {platform}", status=404, kind=kind)
    return location_id


LocationId = Annotated[int, Depends(_location_id)]
"""The id of a location of the platform in the path."""
