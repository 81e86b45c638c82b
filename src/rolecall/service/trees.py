"""Outlines of trees, and the details of one task."""

from __future__ import annotations

from rolecall.model.errors import TaskNotFound
from rolecall.model.operator.details import Ancestor, ExpandedPhase, Family, Outline, Relatives, TaskDetail
from rolecall.model.operator.pages import page_by_id, position
from rolecall.model.tasks import TaskSummary
from rolecall.service.database import Database
from rolecall.service.redaction import redact_documents
from rolecall.sql import details, insight, outlines

LEVELS = 5
MOST_NAMED = 150
MOST_FOLLOWING = 12
MOST_CHILDREN = 50
MOST_NEEDS = 200
LONGEST_TIMELINE = 200
MOST_ATTEMPTS = 50
MOST_WITH_ATTEMPTS = 40


class Trees:
    """Outlines of trees, for the picture."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outline(self, task_id: int, unfolded: ExpandedPhase | None = None) -> Outline:
        """Return a task with five levels below it, and the next tasks of its chain.

        Many children of one handler are only counted. Raises TaskNotFound.
        """
        phases = await self._database.run(outlines.phases(task_id, depth=LEVELS, most=MOST_NAMED, unfolded=unfolded))
        ids = [task_id, *(child for phase in phases for child in phase.named)]
        tasks = await self._database.run(outlines.summaries(ids))
        if task_id not in tasks:
            raise TaskNotFound(task_id=task_id)
        chain = await self._database.run(outlines.chain(tasks[task_id].chain_id, MOST_FOLLOWING))
        following = [task for task in chain if task.chain_index > tasks[task_id].chain_index]
        ids += [task.id for task in following]
        preceding = [task for task in chain if task.chain_index < tasks[task_id].chain_index]
        ancestors = await self._database.run(outlines.ancestors(task_id))
        needs = await self._database.run(outlines.needs_among(ids))
        return Outline(
            root=tasks[task_id],
            ancestors=ancestors,
            phases=phases,
            tasks=tasks,
            needs=needs,
            following=following,
            preceding=preceding,
        )

    async def relatives(self, task_id: int) -> Relatives:
        """Return the outline of a task with the times of its folded children. Raises TaskNotFound."""
        outline = await self.outline(task_id)
        parents = {phase.parent_id for phase in outline.phases}
        folded = sorted({phase.parent_id for phase in outline.phases if phase.folded})
        tasks = [*outline.preceding, outline.root, *outline.tasks.values(), *outline.following]
        claimed = list({task.id: None for task in tasks if task.id in parents or _has_paused(task)})[
            :MOST_WITH_ATTEMPTS
        ]
        at, groups = await self._database.run(outlines.sibling_groups(folded, outline.root.created_at))
        ids = [*outline.tasks, *(group.slowest_id for group in groups)]
        needs = await self._database.run(outlines.needs_of_groups(ids, folded)) if folded else []
        attempts = await self._database.run(insight.attempts_of(claimed))
        return Relatives(at=at, outline=outline, groups=groups, needs=needs, attempts=attempts)


def _has_paused(task: TaskSummary) -> bool:
    """Return whether the row of the task does not contain all of its runs."""
    return task.fence > 1 or (task.fence > 0 and task.started_at is None)


async def gather(database: Database, task_id: int, most: int, children_from: str | None) -> TaskDetail:
    """Read a task and everything related to it. Raises TaskNotFound, InvalidCursor."""
    after = position(children_from)
    at, task, payload, result = await database.run(details.task(task_id, most))
    payload, result = await redact_documents(database, task.handler, payload, result)
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
        attempts=await database.run(insight.attempts(task_id, MOST_ATTEMPTS)),
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
