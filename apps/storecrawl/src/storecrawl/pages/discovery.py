"""Discovery: the states and their cities with results and failures, and a search on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from fastapi import Response

from rolecall.web import Connects, Operating, Pages, Reading, TaskFilter, page_by_id, position
from storecrawl.actions.new_tasks import as_manual_requests, discovery
from storecrawl.catalog.discovery import StateRecord, list_cities, list_states
from storecrawl.pages.query import ChosenState, Cursor, address_builder

router = Pages()

CITIES = 50
SEARCHES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The totals of all states; `failing` counts states and cities whose last attempts failed."""

    states: int
    cities: int
    cities_crawled: int
    failing: int
    locations: int
    promoted: int
    rejected: int
    needing_investigation: int

    @classmethod
    def of(cls, states: Sequence[StateRecord]) -> Self:
        return cls(
            states=len(states),
            cities=sum(each.cities for each in states),
            cities_crawled=sum(each.cities_crawled for each in states),
            failing=sum(each.cities_failing + (each.failures > 0) for each in states),
            locations=sum(each.locations for each in states),
            promoted=sum(each.promoted for each in states),
            rejected=sum(each.rejected for each in states),
            needing_investigation=sum(each.needing_investigation for each in states),
        )


@router.get("/discovery")
async def show(view: Reading, connects: Connects, state: ChosenState = None, cursor: Cursor = None) -> Response:
    """Show all states with the failing cities, or the cities of one state."""
    code = state and state.upper()
    async with connects() as connection:
        states = await list_states(connection)
        after = position(cursor)
        cities = await list_cities(connection, state=code, failing=code is None, after=after, limit=CITIES + 1)
    page = page_by_id(cities, CITIES)
    searches = await view.services.tasks.list(TaskFilter(handler="store_discovery", limit=SEARCHES))
    return view.page(
        "storecrawl/discovery/show.html",
        states=states,
        totals=Totals.of(states),
        state=next((each for each in states if each.code == code), None),
        chosen=code,
        cities=page.items,
        searches=searches.items,
        next_cursor=page.next_cursor,
        cursor=cursor,
        again=address_builder(view),
    )


@router.post("/discovery/search")
async def search(view: Operating, state: ChosenState = None) -> Response:
    """Enqueue the task that searches for stores, in one state or in all covered ones."""
    [task] = as_manual_requests([discovery([state] if state else ())])
    [stored] = await view.services.tasks.enqueue_many([task])
    return view.done(f"Task {stored.id} searches for stores as soon as a worker is free.")
