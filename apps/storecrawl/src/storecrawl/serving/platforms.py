"""The platforms that have a name in the API's paths; one of them is crawled, the others are known and empty."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path

from rolecall.web import PathId, RequestRefused

__all__ = ["CRAWLED", "PLATFORMS", "LocationId", "Platform"]

CRAWLED = "dt"
PLATFORMS = (CRAWLED, "jn", "wm", "lf", "tz", "bl", "fl")


def _platform(
    platform: Annotated[str, Path(max_length=20, description=f"One of {', '.join(PLATFORMS)}.")],
) -> str:
    if platform not in PLATFORMS:
        raise RequestRefused(f"there is no platform {platform!r}", status=404, kind="platform-not-found")
    return platform


Platform = Annotated[str, Depends(_platform)]


def _location_id(platform: Platform, location_id: PathId) -> int:
    if platform != CRAWLED:
        kind = "location-not-found"
        raise RequestRefused(f"there is no location {location_id} of platform {platform}", status=404, kind=kind)
    return location_id


LocationId = Annotated[int, Depends(_location_id)]
"""The id of a location of the platform in the path."""
