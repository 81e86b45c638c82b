"""Gathers everything about one task, question by question, for who looks at it."""

from __future__ import annotations

from rolecall.model.details import Ancestor, Family, TaskDetail
from rolecall.model.pages import page_by_id, position
from rolecall.model.tasks import TaskSummary
from rolecall.service.database import Database
from rolecall.sql import details, outlines

__all__ = ["gather"]

MOST_CHILDREN = 50
MOST_NEEDS = 200
LONGEST_TIMELINE = 200


async def gather(database: Database, task_id: int, most: int, children_from: str | None) -> TaskDetail:
    """Read a task and what stands around it. Raises TaskNotFound, InvalidCursor."""
    after = position(children_from)
    at, task, payload, result = await database.run(details.task(task_id, most))
    timeline = await database.run(details.latest(task_id, LONGEST_TIMELINE + 1))
    return TaskDetail(
        at=at,
        task=task,
        payload=payload,
        result=result,
        path=await _path(database, task),
        maker=await database.run(details.maker(task_id)),
        needs=await database.run(details.needs(task_id, MOST_NEEDS)),
        children=await _children(database, task_id, after),
        timeline=timeline[-LONGEST_TIMELINE:],
        earlier=len(timeline) > LONGEST_TIMELINE,
    )


async def _path(database: Database, task: TaskSummary) -> list[Ancestor]:
    if task.parent_id is None:
        return []
    return await database.run(outlines.ancestors(task.id))


async def _children(database: Database, parent_id: int, after: int | None) -> Family:
    found = await database.run(details.children(parent_id, after, MOST_CHILDREN + 1))
    numbers = await database.run(details.child_numbers(parent_id)) if found or after else {}
    return Family(numbers=numbers, page=page_by_id(found, MOST_CHILDREN))
