"""Tasks for their owners. Each owner sees only their own.

The other services ignore owners: callers with the scope `read` see all tasks there.
"""

from __future__ import annotations

from dataclasses import replace

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import NotTheOwner, TaskNotFound
from rolecall.model.operator.owned import OwnedFilter, OwnedTask
from rolecall.model.tasks import NewTask
from rolecall.service.database import Database
from rolecall.service.redaction import redactions, require_complete
from rolecall.sql import owned, tasks


class OwnedTasks:
    """The tasks of one owner."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enqueue(self, task: NewTask, owner: str, title: str) -> OwnedTask:
        """Store one task. Raises InvalidTask, InvalidPayload, UnknownRole, DuplicateTask."""
        await require_complete(self._database, [task])
        event = AuditEvent("tasks.enqueue", {"handlers": [task.handler], "number": 1, "title": title})
        return await self.get(await self._database.act(event, owned.enqueue(task, owner, title)), owner)

    async def list(self, which: OwnedFilter) -> list[OwnedTask]:
        """List the owner's tasks, open and finished, newest first."""
        found = await self._database.run(owned.tasks(which))
        handlers = await self._database.run(tasks.handlers_of([task.id for task in found]))
        hidden = await redactions(self._database, handlers.values())
        return [replace(task, payload=hidden.payload(handlers.get(task.id), task.payload)) for task in found]

    async def get(self, task_id: int, owner: str) -> OwnedTask:
        """Return one task. Raises TaskNotFound, and NotTheOwner for a task of another owner."""
        for task in await self.list(OwnedFilter(owner=owner, id=task_id)):
            return task
        if await self._database.run(owned.owner_of(task_id)) not in {None, owner}:
            raise NotTheOwner(task_id=task_id)
        raise TaskNotFound(task_id=task_id)

    async def delete(self, task_id: int, owner: str) -> None:
        """Delete a task including everything below it. Raises TaskNotFound, NotTheOwner, ChainLonger, ChainNeeded."""
        await self.get(task_id, owner)
        event = AuditEvent("tasks.delete", {"id": task_id})
        await self._database.act(event, tasks.delete_one(task_id), tasks.kinds([task_id]))
