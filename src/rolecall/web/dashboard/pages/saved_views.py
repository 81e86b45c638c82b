"""The page of saved views, and the form above the list of tasks that saves one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Response

from rolecall.model.operator.task_query import LONGEST
from rolecall.service.saved_views import LONGEST_NAME
from rolecall.web.dashboard.presenters.suggestions import view_path
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading
from rolecall.web.fields.parameters import PathId

router = Pages()

Name = Annotated[str, Form()]
Query = Annotated[str, Form()]


@router.get("/views")
async def list_views(view: Reading) -> Response:
    """Show the saved views by name."""
    found = await view.read(views=view.services.saved_views.list())
    return view.page("tasks/views.html", view_path=view_path, longest_name=LONGEST_NAME, longest=LONGEST, **found)


@router.post("/views")
async def save_view(view: Operating, name: Name, query: Query) -> Response:
    """Save a query under a new name, and show its tasks."""
    saved = await view.services.saved_views.save(name.strip(), query.strip())
    return view.done(f"Saved the view “{saved.name}”.", to=view_path(saved))


@router.post("/views/{view_id:int}/change")
async def change_view(view: Operating, view_id: PathId, name: Name, query: Query) -> Response:
    """Give a saved view another name or another query."""
    changed = await view.services.saved_views.change(view_id, name=name.strip(), query=query.strip())
    return view.done(f"Saved the view “{changed.name}”.")


@router.post("/views/{view_id:int}/delete")
async def delete_view(view: Operating, view_id: PathId) -> Response:
    """Delete a saved view after a confirmation."""
    found = await view.services.saved_views.get(view_id)
    await view.confirm(f"Delete the view “{found.name}”?", "Delete", "It disappears for everyone. Its tasks remain.")
    await view.services.saved_views.delete(view_id)
    return view.done(f"Deleted the view “{found.name}”.", to="/views")
