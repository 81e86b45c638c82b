"""Saved views over HTTP: queries of tasks under a name."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from pydantic import Field

from rolecall.model.operator.pages import Page
from rolecall.model.operator.saved_views import SavedView
from rolecall.model.operator.task_query import LONGEST
from rolecall.service.saved_views import LONGEST_NAME
from rolecall.web.dependencies import Operates, Reads
from rolecall.web.fields.parameters import Body, PathId
from rolecall.web.http.problems import refuses
from rolecall.web.routers import api_router

router = api_router(prefix="/api/views", tags=["views"])

ViewName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
ViewQuery = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class NewView(Body):
    """A new saved view: its name, and a query such as `role:mail state:failed`."""

    name: ViewName
    query: ViewQuery


class ViewChanges(Body):
    """Changes to a saved view. Omitted fields keep their values."""

    name: ViewName | None = None
    query: ViewQuery | None = None


@router.get("")
async def list_views(services: Reads) -> Page[SavedView]:
    """List the saved views by name."""
    return Page(items=await services.saved_views.list())


@router.post("", status_code=201, responses=refuses(409))
async def save_view(services: Operates, body: NewView, response: Response) -> SavedView:
    """Save a query under a new name; 409 if the name exists. The pool has up to 100 saved views."""
    view = await services.saved_views.save(body.name, body.query)
    response.headers["Location"] = f"{router.prefix}/{view.id}"
    return view


@router.get("/{view_id:int}", responses=refuses(404))
async def get_view(services: Reads, view_id: PathId) -> SavedView:
    """Return one saved view."""
    return await services.saved_views.get(view_id)


@router.put("/{view_id:int}", responses=refuses(404, 409))
async def change_view(services: Operates, view_id: PathId, body: ViewChanges) -> SavedView:
    """Give a saved view another name or another query; 409 if another view has the name."""
    return await services.saved_views.change(view_id, name=body.name, query=body.query)


@router.delete("/{view_id:int}", status_code=204, response_model=None, responses=refuses(404))
async def delete_view(services: Operates, view_id: PathId) -> None:
    """Delete a saved view."""
    await services.saved_views.delete(view_id)
