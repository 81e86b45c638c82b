"""What an operator may do with tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rolecall.client.waiting import pauses
from rolecall.model.errors import ConfigError, UnknownRole, WaitTimeout
from rolecall.model.insight import TaskFilter, TimelineEntry
from rolecall.model.states import TaskState
from rolecall.model.tasks import Enqueued, NewTask, Task
from rolecall.service.database import Database
from rolecall.service.suggestions import with_suggestion
from rolecall.sql import insight, tasks
from rolecall.sql.statement import Statement

LONGEST_PAGE = 1_000
BATCH = 1_000
STATUSES = (*TaskState, "scheduled", "ready", "parked", "claimed", "stale", "retrying")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHistory:
    """A task and what happened to it, oldest first."""

    task: Task
    timeline: list[TimelineEntry]


class Tasks:
    """The pool, task by task."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enqueue(self, task: NewTask) -> Enqueued:
        """Store one task. Raises InvalidTask, or UnknownRole with a close match."""
        [enqueued] = await self.enqueue_many([task])
        return enqueued

    async def enqueue_many(self, batch: Sequence[NewTask]) -> list[Enqueued]:
        """Store a batch, all or nothing. Raises InvalidTask, or UnknownRole with a close match."""
        try:
            return await self._database.run(tasks.enqueue_many(batch))
        except UnknownRole as error:
            asked = [task.role or task.handler for task in batch]
            raise await with_suggestion(error, self._database, asked) from error

    async def list(self, which: TaskFilter) -> list[Task]:
        """A page of tasks, newest first; page on with `before` the last one's id. Raises ConfigError."""
        if not 1 <= which.limit <= LONGEST_PAGE:
            problem = f"{which.limit} is not between 1 and {LONGEST_PAGE}"
            raise ConfigError(problem, variable="limit", value=which.limit)
        if which.state is not None and which.state not in STATUSES:
            problem = f"{which.state!r} is not one of {', '.join(STATUSES)}"
            raise ConfigError(problem, variable="state", value=which.state)
        return await self._database.run(insight.tasks(which))

    async def get(self, task_id: int) -> Task:
        """One task, open or finished. Raises TaskNotFound."""
        return await self._database.run(tasks.get(task_id))

    async def show(self, task_id: int) -> TaskHistory:
        """One task with its timeline. Raises TaskNotFound."""
        task = await self.get(task_id)
        return TaskHistory(task=task, timeline=await self._database.run(insight.timeline(task_id)))

    async def wait(self, task_id: int, seconds: float) -> Task:
        """The task once it has finished. Raises WaitTimeout, TaskNotFound."""
        deadline = time.monotonic() + seconds
        for pause in pauses():
            task = await self.get(task_id)
            if task.is_finished:
                return task
            left = deadline - time.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
        raise WaitTimeout(task_id=task_id, seconds=seconds)

    async def retry(self, ids: Iterable[int]) -> dict[int, str]:
        """Put failed and cancelled tasks back; each id is pending, open, completed, duplicate or missing."""
        return await self._in_batches(tasks.retry, ids)

    async def cancel(self, ids: Iterable[int]) -> dict[int, str]:
        """Cancel tasks; each id is cancelled, requested (it was running), finished or missing."""
        return await self._in_batches(tasks.cancel, ids)

    async def _in_batches(
        self, verb: Callable[[Sequence[int]], Statement[dict[int, str]]], ids: Iterable[int]
    ) -> dict[int, str]:
        distinct = list(dict.fromkeys(ids))
        outcomes: dict[int, str] = {}
        for first in range(0, len(distinct), BATCH):
            answer = await self._database.run(verb(distinct[first : first + BATCH]))
            outcomes |= answer
        return {task_id: outcomes[task_id] for task_id in distinct}
