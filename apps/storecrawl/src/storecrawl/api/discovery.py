"""Discovery over HTTP: states and cities, the locations of a platform, and the decisions about them.

The permission comes first in each signature, so that callers without it cannot find out which platforms exist.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field

from rolecall.web import (
    Body,
    Connections,
    Connects,
    Id,
    Limit,
    Operates,
    Page,
    Reads,
    agreed,
    page_by_id,
    position,
    refuses,
)
from storecrawl.actions.location_review import DEFAULT_REASON
from storecrawl.catalog.discovery import (
    CityRecord,
    Location,
    LocationFilter,
    LocationStatus,
    Promotion,
    StateRecord,
    find_location,
    list_cities,
    list_locations,
    list_states,
    location_promotions,
    location_raw,
)
from storecrawl.serving.changes import location_review
from storecrawl.serving.parameters import Cursor, LocationId, Platform, SearchText, State, plain_text
from storecrawl.serving.refusals import catalog_errors_as_problems

router = APIRouter(prefix="/api/discovery", tags=["discovery"])

LOCATIONS = "/platforms/{platform}/locations"
LOCATION = LOCATIONS + "/{location_id:int}"
LONGEST_REASON = 500
Why = Annotated[str, Field(min_length=1, max_length=LONGEST_REASON), AfterValidator(plain_text)]
Status = Annotated[LocationStatus | None, Query(description="Only locations with this status.")]


class Note(Body):
    """The reason, which is stored in the location's log."""

    because: Why = DEFAULT_REASON


class Link(Note):
    """The store of the location."""

    store_id: Id


class Rejection(Body):
    """The reason why it is not a store."""

    because: Why


NO_NOTE = Note()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLocation(Location):
    """A location with the decisions about it, the latest first, and the platform's last object."""

    promotions: list[Promotion]
    raw: Any

    @classmethod
    def of(cls, location: Location, promotions: list[Promotion], raw: object) -> Self:
        stored = {field.name: attrgetter(field.name)(location) for field in fields(Location)}
        return cls(**stored, promotions=promotions, raw=raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A location after a decision; whether a store was created from it, and the follow-up task, if any."""

    location: Location
    store_created: bool = False
    task_id: int | None = None


@router.get("/states")
async def states(connects: Connects, _: Reads) -> list[StateRecord]:
    """Return the states that were ever searched or have a location, by name, with their totals and failures."""
    async with connects() as connection:
        return await list_states(connection)


@router.get("/cities")
async def cities(  # sizes: each is a query parameter
    connects: Connects,
    _: Reads,
    *,
    state: State = None,
    state_code: State = None,
    failing: Annotated[bool, Query(description="Only cities whose last attempts failed.")] = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[CityRecord]:
    """Return cities by state and name, with the results of their searches."""
    after = position(cursor)
    code = _code(state, state_code)
    async with connects() as connection:
        found = await list_cities(connection, state=code, failing=failing, after=after, limit=limit + 1)
    return page_by_id(found, limit)


@router.get(LOCATIONS, responses=refuses(404))
async def list_all(  # sizes: the filters of the list
    _: Reads,
    platform: Platform,
    connects: Connects,
    status: Status = None,
    state: State = None,
    state_code: State = None,
    city: SearchText = None,
    text: SearchText = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Location]:
    """Return locations by id; `text` matches name, slug, chain, city, id and entry."""
    after = position(cursor) or 0
    code = _code(state, state_code)
    criteria = LocationFilter(
        platform=platform, status=status, state=code, city=city, text=text, after=after, limit=limit + 1
    )
    async with connects() as connection:
        found = await list_locations(connection, criteria)
    return page_by_id(found, limit)


@router.get(LOCATION, responses=refuses(404))
async def show(_: Reads, location_id: LocationId, connects: Connects) -> ShownLocation:
    """Return a location with its log and the platform's object."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            location = await find_location(connection, location_id)
            promotions = await location_promotions(connection, location_id)
            return ShownLocation.of(location, promotions, await location_raw(connection, location_id))


@router.post(LOCATION + "/verify-create", responses=refuses(404, 409))
async def verify_create(
    services: Operates, location_id: LocationId, connects: Connects, note: Note = NO_NOTE
) -> Decided:
    """Create a store from a location whatever the rules are, and crawl it; a store with the same id is linked."""
    async with location_review(connects, services) as review:
        verified, task_id = await review.verify(location_id, note.because)
    return Decided(location=await _location(connects, location_id), store_created=verified.is_new, task_id=task_id)


@router.post(LOCATION + "/verify-link", responses=refuses(404, 409))
async def verify_link(services: Operates, location_id: LocationId, connects: Connects, link: Link) -> Decided:
    """Link a location to an existing store. A store without an id, or with a doubtful one, gets the location's id."""
    async with location_review(connects, services) as review:
        task_id = await review.link(location_id, link.store_id, link.because)
    return Decided(location=await _location(connects, location_id), task_id=task_id)


@router.post(LOCATION + "/reject", responses=refuses(404, 409))
async def reject(services: Operates, location_id: LocationId, connects: Connects, rejection: Rejection) -> Decided:
    """Reject a location; discovery never validates it again."""
    async with location_review(connects, services) as review:
        await review.reject(location_id, rejection.because)
    return Decided(location=await _location(connects, location_id))


@router.post(LOCATION + "/unreject", responses=refuses(404, 409))
async def unreject(services: Operates, location_id: LocationId, connects: Connects, note: Note = NO_NOTE) -> Decided:
    """Undo a rejection; the next discovery validates the location again."""
    async with location_review(connects, services) as review:
        await review.unreject(location_id, note.because)
    return Decided(location=await _location(connects, location_id))


def _code(state: str | None, state_code: str | None) -> str | None:
    code = agreed("state", state, "state_code", state_code)
    return code and code.upper()


async def _location(connects: Connections, location_id: int) -> Location:
    async with connects() as connection:
        return await find_location(connection, location_id)
