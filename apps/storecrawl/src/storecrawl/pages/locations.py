"""Locations: the list, one location with the decisions about it, and forms for decisions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Response
from pydantic import AfterValidator, Field

from rolecall.web import (
    Connects,
    Id,
    Operating,
    Pages,
    PathId,
    Reading,
    RequestRefused,
    View,
    page_by_id,
    position,
)
from storecrawl.actions.location_review import DEFAULT_REASON
from storecrawl.catalog.discovery import (
    LocationFilter,
    LocationStatus,
    find_location,
    list_locations,
    list_states,
    location_promotions,
    location_raw,
)
from storecrawl.pages.query import ChosenState, ChosenStatus, Cursor, NoneIfEmpty, SearchedText, address_builder
from storecrawl.serving.changes import location_review
from storecrawl.serving.parameters import plain_text
from storecrawl.serving.refusals import catalog_errors_as_problems

router = Pages()

LOCATIONS = 50
ONE = "/discovery/locations/{location_id:int}"
Because = Annotated[Annotated[str, Field(max_length=500), AfterValidator(plain_text)] | None, NoneIfEmpty, Form()]
StoreId = Annotated[Id, Form()]


@router.get("/discovery/locations")
async def list_all(  # sizes: the filters of the list
    view: Reading,
    connects: Connects,
    status: ChosenStatus = None,
    state: ChosenState = None,
    city: SearchedText = None,
    text: SearchedText = None,
    cursor: Cursor = None,
) -> Response:
    """Show locations by id; `text` matches name, slug, chain, city, id and entry."""
    code = state and state.upper()
    after = position(cursor) or 0
    criteria = LocationFilter(status=status, state=code, city=city, text=text, after=after, limit=LOCATIONS + 1)
    async with connects() as connection:
        found = await list_locations(connection, criteria)
        states = await list_states(connection)
    page = page_by_id(found, LOCATIONS)
    return view.page(
        "storecrawl/locations/list.html",
        locations=page.items,
        states=[each.code for each in states],
        statuses=list(LocationStatus),
        chosen={"status": status or "", "state": code or "", "city": city or "", "text": text or ""},
        next_cursor=page.next_cursor,
        cursor=cursor,
        again=address_builder(view),
    )


@router.get(ONE)
async def show(location_id: PathId, view: Reading, connects: Connects) -> Response:
    """Show a location: its data, the decisions with their authors, and the platform's object."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            location = await find_location(connection, location_id)
            promotions = await location_promotions(connection, location_id)
            raw = await location_raw(connection, location_id)
    return view.page("storecrawl/locations/show.html", location=location, promotions=promotions, raw=raw)


@router.post(ONE + "/verify-create")
async def verify_create(view: Operating, location_id: PathId, connects: Connects, because: Because = None) -> Response:
    """Create a store from a location."""
    await view.confirm(f"Create a store from location {location_id}?", "Create a store", "It is crawled immediately.")
    async with _notice(view) as notice, location_review(connects, view.services) as review:
        verified, task_id = await review.verify(location_id, because or DEFAULT_REASON)
        now = f"It is now store {verified.store_id}; task {task_id} crawls it as soon as a worker is free."
        notice.sentence = now if verified.is_new else f"Store {verified.store_id} already has this id and was linked."
    return notice.answer()


@router.post(ONE + "/verify-link")
async def verify_link(
    view: Operating, location_id: PathId, connects: Connects, store_id: StoreId, because: Because = None
) -> Response:
    """Link a location to an existing store."""
    await view.confirm(f"Link location {location_id} to store {store_id}?", "Link")
    async with _notice(view) as notice, location_review(connects, view.services) as review:
        task_id = await review.link(location_id, store_id, because or DEFAULT_REASON)
        crawled = "" if task_id is None else f"; task {task_id} crawls it by this id"
        notice.sentence = f"It is linked to store {store_id}{crawled}."
    return notice.answer()


@router.post(ONE + "/reject")
async def reject(view: Operating, location_id: PathId, connects: Connects, because: Because = None) -> Response:
    """Reject a location."""
    await view.confirm(
        f"Reject location {location_id}?", "Reject", "It is not a store; discovery never validates it again."
    )
    async with _notice(view) as notice, location_review(connects, view.services) as review:
        await review.reject(location_id, because or DEFAULT_REASON)
        notice.sentence = "It is rejected; discovery never validates it again."
    return notice.answer()


@router.post(ONE + "/unreject")
async def unreject(view: Operating, location_id: PathId, connects: Connects, because: Because = None) -> Response:
    """Undo a rejection."""
    question = f"Undo the rejection of location {location_id}?"
    await view.confirm(question, "Undo rejection", "The next discovery validates it again.")
    async with _notice(view) as notice, location_review(connects, view.services) as review:
        await review.unreject(location_id, because or DEFAULT_REASON)
        notice.sentence = "The rejection is undone; the next discovery validates it again."
    return notice.answer()


@dataclass(slots=True, kw_only=True)
class Notice:
    """The outcome of a decision, for the page with the form."""

    view: View
    sentence: str = ""
    was_refused: bool = False

    def answer(self) -> Response:
        return self.view.done(self.sentence, tone="bad" if self.was_refused else "good")


@asynccontextmanager
async def _notice(view: View) -> AsyncIterator[Notice]:
    notice = Notice(view=view)
    try:
        yield notice
    except RequestRefused as refusal:
        notice.sentence = f"{refusal.detail[:1].upper()}{refusal.detail[1:]}."
        notice.was_refused = True
