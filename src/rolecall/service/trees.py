"""What an operator may ask about how tasks hang together, in a size that fits on a page."""

from __future__ import annotations

from rolecall.model.details import Outline, Unfolded
from rolecall.model.errors import TaskNotFound
from rolecall.service.database import Database
from rolecall.sql import outlines

LEVELS = 5
MOST_NAMED = 150
MOST_FOLLOWING = 12


class Trees:
    """Trees, as far as a picture shows them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outline(self, task_id: int, unfolded: Unfolded | None = None) -> Outline:
        """A task and what stands below it, five levels down, and with what its chain goes on after it.

        Many children of one handler are one number. Raises TaskNotFound.
        """
        phases = await self._database.run(outlines.phases(task_id, depth=LEVELS, most=MOST_NAMED, unfolded=unfolded))
        ids = [task_id, *(child for phase in phases for child in phase.named)]
        tasks = await self._database.run(outlines.summaries(ids))
        if task_id not in tasks:
            raise TaskNotFound(task_id=task_id)
        chain = await self._database.run(outlines.chain(tasks[task_id].chain_id, MOST_FOLLOWING))
        following = [task for task in chain if task.chain_index > tasks[task_id].chain_index]
        ids += [task.id for task in following]
        ancestors = await self._database.run(outlines.ancestors(task_id))
        needs = await self._database.run(outlines.needs_among(ids))
        return Outline(
            root=tasks[task_id], ancestors=ancestors, phases=phases, tasks=tasks, needs=needs, following=following
        )
