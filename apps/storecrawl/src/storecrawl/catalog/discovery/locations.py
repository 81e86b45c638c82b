"""Locations found by discovery: lists, single ones, and the decisions about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import UnknownLocation
from storecrawl.catalog.sql import LOCATIONS
from storecrawl.statements import Connection, containing_pattern, fetch

MOST_PROMOTIONS = 100


class LocationStatus(StrEnum):
    """The decision about a location.

    discovered: seen, undecided. verified: became a store. linked: belongs to an existing store. rejected:
    not a store. needs_investigation: the platform does not know its id, and a person must investigate.
    """

    DISCOVERED = "discovered"
    VERIFIED = "verified"
    LINKED = "linked"
    REJECTED = "rejected"
    NEEDS_INVESTIGATION = "needs_investigation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place where the platform lists a store.

    `problems` are the rules that it did not meet when it was last validated. `because` and `decided_by` are
    the reason and the author of its status. `entry` is the slug or address that led to it if its platform
    id is unknown.
    """

    id: int
    platform: str
    platform_store_id: str | None
    endpoint: str | None
    entry: str | None
    status: LocationStatus
    problems: list[str]
    because: str | None
    decided_by: str | None
    decided_at: datetime | None
    store_id: int | None
    store_name: str | None
    name: str | None
    slug: str | None
    chain: str | None
    address: str | None
    city: str | None
    state: str | None
    postal_code: str | None
    country: str | None
    latitude: float | None
    longitude: float | None
    timezone: str | None
    menu_url: str | None
    recreational: bool | None
    medical: bool | None
    first_seen_at: datetime
    last_seen_at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", LocationStatus(self.status))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationFilter:
    """Filters of locations; None matches everything. `text` matches name, slug, chain, city, id and entry.

    `after` is the last id of the previous page.
    """

    platform: str | None = None
    status: LocationStatus | None = None
    state: str | None = None
    city: str | None = None
    text: str | None = None
    after: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """An entry of a location's log: a status, its author, time and reason; `store_id` is the store it had then."""

    id: int
    at: datetime
    was: LocationStatus | None
    became: LocationStatus
    store_id: int | None
    store_name: str | None
    by: str
    because: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "was", self.was and LocationStatus(self.was))
        object.__setattr__(self, "became", LocationStatus(self.became))


async def list_locations(connection: Connection, criteria: LocationFilter) -> list[Location]:
    """Return a page of locations by id."""
    parameters = {
        "platform": criteria.platform,
        "status": criteria.status,
        "state": criteria.state,
        "city": criteria.city,
        "pattern": containing_pattern(criteria.text),
        "after": criteria.after,
        "limit": criteria.limit,
    }
    return await fetch(connection, LOCATIONS.list_locations, parameters, class_row(Location))


async def find_location(connection: Connection, location_id: int) -> Location:
    """Return a location. Raises UnknownLocation."""
    rows = await fetch(connection, LOCATIONS.location_by_id, {"location_id": location_id}, class_row(Location))
    if not rows:
        raise UnknownLocation(location_id)
    return rows[0]


async def location_promotions(connection: Connection, location_id: int) -> list[Promotion]:
    """Return the decisions about a location, the latest first."""
    parameters = {"location_id": location_id, "limit": MOST_PROMOTIONS}
    return await fetch(connection, LOCATIONS.promotions_of_location, parameters, class_row(Promotion))


async def location_raw(connection: Connection, location_id: int) -> Any:
    """Return the platform's object of a location when last seen; None if there never was one."""
    rows = await fetch(connection, LOCATIONS.raw_of_location, {"location_id": location_id}, scalar_row)
    return rows[0] if rows else None
