"""Suggestions as JSON, for the scripts of the search field and of the palette."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

from fastapi import Query, Response
from fastapi.responses import JSONResponse

from rolecall.model.operator.task_query import LONGEST
from rolecall.web.dashboard.presenters.suggestions import PLACES, Suggestion, complete, kinds_for, places
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading, View
from rolecall.web.http.requests import root_of
from rolecall.web.state import state_of

router = Pages()

Typed = Annotated[str, Query(max_length=LONGEST)]


@router.get("/suggestions/query")
async def suggest_conditions(view: Reading, text: Typed = "") -> Response:
    """Return the conditions and values that complete a word of a query."""
    kinds, part = kinds_for(text)
    names = await view.services.insight.find_names(kinds, part) if kinds else ()
    return _json(view, complete(text, names))


@router.get("/suggestions/places")
async def suggest_places(view: Reading, text: Typed = "") -> Response:
    """Return the pages, views, roles, handlers, schedules and workers whose names contain a text."""
    text = text.strip()
    entries = [each for each in state_of(view.request).pages.entries if view.caller.scope.includes(each.scope)]
    views = await view.services.saved_views.list()
    names = await view.services.insight.find_names(PLACES, text) if text else ()
    return _json(view, places(text, entries, views, names))


def _json(view: View, suggestions: Iterable[Suggestion]) -> Response:
    root = root_of(view.request.scope)
    items = [{**asdict(each), "href": each.href and root + each.href} for each in suggestions]
    return JSONResponse(items, headers={"cache-control": "no-store"})
