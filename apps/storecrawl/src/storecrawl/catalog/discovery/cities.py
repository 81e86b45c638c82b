"""States and cities: those that discovery covers, those that the platform named, and their last searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from storecrawl.catalog.sql import CITIES
from storecrawl.statements import Connection, execute, fetch, json_text

LONGEST_ERROR = 500
US_STATES = {
    "AK": "Alaska", "AL": "Alabama", "AR": "Arkansas", "AZ": "Arizona", "CA": "California", "CO": "Colorado",
    "CT": "Connecticut", "DC": "District of Columbia", "DE": "Delaware", "FL": "Florida", "GA": "Georgia",
    "HI": "Hawaii", "IA": "Iowa", "ID": "Idaho", "IL": "Illinois", "IN": "Indiana", "KS": "Kansas", "KY": "Kentucky",
    "LA": "Louisiana", "MA": "Massachusetts", "MD": "Maryland", "ME": "Maine", "MI": "Michigan", "MN": "Minnesota",
    "MO": "Missouri", "MS": "Mississippi", "MT": "Montana", "NC": "North Carolina", "ND": "North Dakota",
    "NE": "Nebraska", "NH": "New Hampshire", "NJ": "New Jersey", "NM": "New Mexico", "NV": "Nevada", "NY": "New York",
    "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania", "RI": "Rhode Island", "SC": "South Carolina",
    "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas", "UT": "Utah", "VA": "Virginia", "VT": "Vermont",
    "WA": "Washington", "WI": "Wisconsin", "WV": "West Virginia", "WY": "Wyoming",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCity:
    """A city named by the platform; `stores_told` is the number of stores that the platform claims."""

    name: str
    slug: str | None = None
    country: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    stores_told: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CityRecord:
    """A known city. `stores_found` is from the last response, at `crawled_at`; `failures` counts attempts since."""

    id: int
    platform: str
    state: str
    name: str
    stores_told: int | None
    stores_found: int | None
    crawled_at: datetime | None
    failures: int
    failed_at: datetime | None
    error: str | None
    first_seen_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord:
    """A state with its totals. Its cities were last named at `listed_at`; `failures` counts attempts since.

    `promoted` counts locations with a store. `crawled_at` is the time of the latest response of any of its
    cities.
    """

    code: str
    name: str
    listed_at: datetime | None
    failures: int
    failed_at: datetime | None
    error: str | None
    cities: int
    cities_crawled: int
    cities_failing: int
    crawled_at: datetime | None
    locations: int
    promoted: int
    rejected: int
    needing_investigation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedArea:
    """A state, or a city of it, in which a platform is searched."""

    platform: str
    state: str
    city: str | None = None


async def enter_cities(connection: Connection, area: SearchedArea, cities: Sequence[NamedCity]) -> None:
    """Record the cities that a platform names in a state. Cities that it no longer names stay."""
    parameters = _parameters(area)
    await execute(connection, CITIES.enter_state, parameters)
    await execute(connection, CITIES.note_state_listed, parameters)
    await execute(connection, CITIES.enter_cities, parameters | {"cities": json_text(cities)})


async def note_area_failed(connection: Connection, area: SearchedArea, error: str) -> None:
    """Count a failed search of an area."""
    parameters = _parameters(area) | {"error": error[:LONGEST_ERROR]}
    if area.city is None:
        await execute(connection, CITIES.enter_state, parameters)
    await execute(connection, CITIES.note_state_failed if area.city is None else CITIES.note_city_failed, parameters)


async def note_city_crawled(connection: Connection, area: SearchedArea, found: int) -> None:
    """Record how many stores of a city were found."""
    await execute(connection, CITIES.note_city_crawled, _parameters(area) | {"found": found})


def _parameters(area: SearchedArea) -> dict[str, Any]:
    return {"platform": area.platform, "state": area.state, "city": area.city}


async def list_states(connection: Connection) -> list[StateRecord]:
    """Return the states that were ever searched or have a location, by name."""
    return await fetch(connection, CITIES.list_states, {}, class_row(StateRecord))


async def list_cities(
    connection: Connection,
    *,
    state: str | None = None,
    failing: bool = False,
    after: int | None = None,
    limit: int = 50,
) -> list[CityRecord]:
    """Return a page of cities by state and name; `failing` selects those whose last attempts failed."""
    parameters = {"state": state, "failing": failing, "after": after, "limit": limit}
    return await fetch(connection, CITIES.list_cities, parameters, class_row(CityRecord))


_BY_NAME = {name.lower(): code for code, name in US_STATES.items()}


def state_code(text: str) -> str:
    """Return the two-letter code of a state in any spelling; other texts are returned unchanged."""
    return _BY_NAME.get(text.strip().lower(), text.strip().upper())
