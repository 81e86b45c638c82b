"""The page of a task's tree: a picture, the same as a list, and its progress."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query, Response

from rolecall.model.errors import FilterError
from rolecall.model.operator.details import ExpandedPhase
from rolecall.web.dashboard.drawing.tree_picture import count_text, draw_tree
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading
from rolecall.web.fields.parameters import LARGEST_ID, PathId

router = Pages()

Unfold = Annotated[str, Query(max_length=400, description="The phase to unfold: the parent's id and the handler.")]


@router.get("/tasks/{task_id:int}/tree")
async def show_tree(task_id: PathId, view: Reading, unfold: Unfold = "") -> Response:
    """Show a task with its ancestors and descendants."""
    unfolded = _read_unfolded(unfold)
    parts = await view.read(
        outline=view.services.trees.outline(task_id, unfolded), progress=view.services.progress.tree(task_id)
    )
    picture = draw_tree(parts["outline"], datetime.now(UTC), unfolded)
    return view.page("trees/tree.html", picture=picture, unfolded=unfolded, counted=count_text, **parts)


def _read_unfolded(text: str) -> ExpandedPhase | None:
    parent, _, handler = text.partition(":")
    if not text:
        return None
    if not parent.isascii() or not parent.isdecimal() or not 0 < int(parent) <= LARGEST_ID or not handler:
        raise FilterError(f"{text!r} is not a task's id and a handler, such as 7:fetch")
    return ExpandedPhase(parent_id=int(parent), handler=handler)
