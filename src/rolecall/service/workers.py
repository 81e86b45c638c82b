"""Workers: the registry and commands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import UnknownWorker
from rolecall.model.operator.insight import RegisteredWorker, RunningTask, TaskFilter, WorkerGroup
from rolecall.model.tasks import TaskSummary
from rolecall.model.workers import WorkerCommand
from rolecall.service.arguments import LONGEST_PAGE
from rolecall.service.database import Database
from rolecall.sql import finding, insight, workers


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDetail:
    """A worker and its running tasks."""

    worker: RegisteredWorker
    tasks: list[TaskSummary]


class Workers:
    """The worker registry."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, *, everyone: bool = False) -> list[RegisteredWorker]:
        """List the active workers, latest heartbeat first; `everyone` includes stopped and silent ones."""
        workers = await self._database.run(insight.workers())
        return [worker for worker in workers if everyone or worker.active]

    async def coverage(self) -> Coverage:
        """Return how many live workers serve which handlers."""
        return Coverage(await self._database.run(insight.alike_workers()))

    async def get(self, worker_id: int) -> RegisteredWorker:
        """Return one worker, also if it stopped less than a day ago. Raises UnknownWorker."""
        for worker in await self._database.run(insight.worker(worker_id)):
            return worker
        raise UnknownWorker(f"there is no worker {worker_id}")

    async def show(self, worker_id: int) -> WorkerDetail:
        """Return one worker with its running tasks. Raises UnknownWorker."""
        worker = await self.get(worker_id)
        running = TaskFilter(ids=worker.running_tasks, limit=LONGEST_PAGE)
        page = await self._database.run(finding.tasks(running))
        return WorkerDetail(worker=worker, tasks=page.items)

    async def in_hand(self, worker_ids: Iterable[int], most: int) -> Mapping[int, Sequence[RunningTask]]:
        """Return the running tasks of workers, by worker: the `most` longest-running ones of each."""
        by_worker: dict[int, list[RunningTask]] = defaultdict(list)
        for task in await self._database.run(insight.work_in_hand(list(worker_ids), most)):
            by_worker[task.worker_id].append(task)
        return by_worker

    async def drain(self, worker_id: int) -> RegisteredWorker:
        """Drain a worker: it claims no more tasks, finishes the running ones, and stays registered. Raises
        UnknownWorker.
        """
        return await self._command("workers.drain", worker_id, WorkerCommand.DRAIN)

    async def decommission(self, worker_id: int) -> RegisteredWorker:
        """Decommission a worker: it claims no more tasks, finishes the running ones, and exits. Raises
        UnknownWorker.
        """
        return await self._command("workers.decommission", worker_id, WorkerCommand.DECOMMISSION)

    async def resume(self, worker_id: int) -> RegisteredWorker:
        """Revoke the worker's command. Raises UnknownWorker."""
        return await self._command("workers.resume", worker_id, None)

    async def _command(self, action: str, worker_id: int, command: WorkerCommand | None) -> RegisteredWorker:
        await self._database.act(AuditEvent(action, {"worker_id": worker_id}), workers.command(worker_id, command))
        return await self.get(worker_id)


class Coverage:
    """The live workers, grouped by roles and handlers, so that counting need not visit each worker."""

    def __init__(self, groups: list[WorkerGroup]) -> None:
        self._by_handler: dict[str, list[WorkerGroup]] = defaultdict(list)
        for group in groups:
            for handler in group.handlers:
                self._by_handler[handler].append(group)

    def workers(self, role: str, handlers: Iterable[str]) -> int:
        """Count the workers that claim tasks of the role for at least one of the handlers."""
        found = {
            id(group): group.number
            for handler in handlers
            for group in self._by_handler.get(handler, ())
            if not group.roles or role in group.roles
        }
        return sum(found.values())
