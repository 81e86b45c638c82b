"""`storecrawl discovery`: search for stores, list the results, and decide about locations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, TypeVar

from typer import Argument, Option, echo

from rolecall import App, AsyncClient, NewTask
from rolecall.audit import terminal_actor
from rolecall.cli import plain_typer, print_json, print_table
from storecrawl.actions.location_review import DEFAULT_REASON, LocationReview
from storecrawl.actions.new_tasks import as_manual_requests
from storecrawl.actions.new_tasks import discovery as search
from storecrawl.app import build_app
from storecrawl.catalog.discovery import (
    Location,
    LocationFilter,
    LocationStatus,
    StateRecord,
    list_locations,
    list_states,
)
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.settings import CrawlSettings

T = TypeVar("T")
STATES = ("state", "cities", "failing", "locations", "stores", "rejected", "to investigate", "last crawl")
LOCATIONS = ("id", "name", "place", "status", "store", "why")

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
LocationId = Annotated[int, Argument(min=1, metavar="ID", help="The id in `storecrawl discovery locations`.")]
Reason = Annotated[str, Option("--because", metavar="WHY", help="The reason, which is stored in the location's log.")]

discovery = plain_typer("Discovery of stores: states, cities and the locations found there.")


@discovery.command()
def run(
    states: Annotated[
        list[str] | None, Argument(metavar="STATE", help="Two-letter codes; by default all covered states.")
    ] = None,
    *,
    platform: Annotated[str | None, Option(help="The platform to search; by default all crawled ones.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Enqueue a search for stores, in some states or in all."""
    [task] = as_manual_requests([search(states or (), platform)])
    app = build_app(CrawlSettings.from_environment())
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    echo(f"task {home.query(lambda connection: _enqueue(connection, app, task))} searches for stores")


@discovery.command("states")
def states_(*, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Show the results and failures of each state."""
    found = CrawlHome(data_dir=data_dir, database_url=database_url).query(list_states)
    _show(found, STATES, map(_state, found), as_json=as_json)


@discovery.command()
def locations(  # sizes: a command's flags
    *,
    status: Annotated[LocationStatus | None, Option(help="Only locations with this status.")] = None,
    state: Annotated[str | None, Option(help="Only locations in this state.")] = None,
    city: Annotated[str | None, Option(help="Only locations in this city.")] = None,
    text: Annotated[str | None, Option(help="Search name, slug, chain, city, id and entry.")] = None,
    after: Annotated[int, Option(min=0, help="The last id of the previous page.")] = 0,
    limit: Annotated[int, Option(min=1, max=1_000, help="The maximum number.")] = 50,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List locations by id."""
    code = state and state.upper()
    criteria = LocationFilter(status=status, state=code, city=city, text=text, after=after, limit=limit)
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    found = home.query(lambda connection: list_locations(connection, criteria))
    _show(found, LOCATIONS, map(_location, found), as_json=as_json)


@discovery.command()
def verify(
    location: LocationId,
    *,
    store: Annotated[int | None, Option(min=1, help="Link it to this store instead of creating one.")] = None,
    reason: Reason = DEFAULT_REASON,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Create a store from a location, or link it to an existing one."""

    async def verify_location(review: LocationReview) -> str:
        result, _ = await review.verify(location, reason)
        return f"location {location} is {'store' if result.is_new else 'linked to store'} {result.store_id} now"

    async def link_location(review: LocationReview, store_id: int) -> str:
        task = await review.link(location, store_id, reason)
        return f"location {location} is linked to store {store_id}" + (", which goes by its id now" if task else "")

    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    echo(_decide(home, verify_location if store is None else lambda review: link_location(review, store)))


@discovery.command()
def reject(
    location: LocationId,
    *,
    reason: Annotated[str, Option("--because", metavar="WHY", help="The reason why it is not a store.")],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Reject a location; discovery never validates it again."""
    _decide(CrawlHome(data_dir=data_dir, database_url=database_url), lambda review: review.reject(location, reason))
    echo(f"location {location} is rejected")


@discovery.command()
def unreject(
    location: LocationId, *, reason: Reason = DEFAULT_REASON, data_dir: DataDir = None, database_url: DatabaseUrl = None
) -> None:
    """Undo a rejection; the next discovery validates the location again."""
    _decide(CrawlHome(data_dir=data_dir, database_url=database_url), lambda review: review.unreject(location, reason))
    echo(f"location {location} is no longer rejected")


def _decide(home: CrawlHome, decision: Callable[[LocationReview], Awaitable[T]]) -> T:
    app = build_app(CrawlSettings.from_environment())

    async def decide(connection: Connection) -> T:
        return await decision(LocationReview(connection, terminal_actor(), partial(_enqueue, connection, app)))

    return home.query(decide)


async def _enqueue(connection: Connection, app: App, task: NewTask) -> int:
    async with AsyncClient(app=app) as client:
        [stored] = await client.enqueue_many([task], connection=connection)
        return stored.id


def _show(found: Sequence[object], columns: Sequence[str], rows: Iterable[Sequence[object]], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        print_table(columns, rows, "nothing was found")


def _state(state: StateRecord) -> tuple[object, ...]:
    counts = (state.cities, state.cities_failing, state.locations, state.promoted, state.rejected)
    return (state.code, *counts, state.needing_investigation, state.crawled_at or state.error)


def _location(location: Location) -> tuple[object, ...]:
    name = location.name or location.entry or location.platform_store_id
    place = ", ".join(filter(None, (location.city, location.state)))
    return (location.id, name, place, location.status, location.store_id, location.because)
