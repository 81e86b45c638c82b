"""How far trees are, over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from rolecall.model.progress import Progress
from rolecall.service.progress import read_weights
from rolecall.web.access import Reads
from rolecall.web.fields import PathId
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/tasks", tags=["live"])

Weights = Annotated[
    list[str], Query(description="What the phase of a handler weighs, else 1: `fetch:3`", max_length=100)
]


@router.get("/{task_id:int}/progress", responses=refuses(404))
async def show_progress(services: Reads, task_id: PathId, weight: Weights = []) -> Progress:  # noqa: B006 - never changed
    """How far a task and everything below it is, phase by phase."""
    return await services.progress.tree(task_id, read_weights(weight))
