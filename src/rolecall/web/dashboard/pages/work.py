"""The work on the pages of a role or a handler: the longest running and latest tasks, their keys, and the workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rolecall.model.operator.insight import RegisteredWorker, TaskFilter
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.view import View

MOST_RUNNING = 500
MOST_WAITING = 500
MOST_WORKERS = 20
SHOWN = 10
LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Tasks of a role, or of one of its handlers."""

    running: Sequence[TaskSummary]
    latest: Sequence[TaskSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksOfKey:
    """A key, and how many tasks wait and run with it."""

    key: str
    waiting: int
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The first live workers that run the tasks, and the number of all."""

    workers: Sequence[RegisteredWorker]
    number: int


async def read_crew(view: View, role: str, handlers: Collection[str]) -> Crew:
    """Return the live workers that serve a role and run one of these handlers."""
    names = set(handlers)
    found = [
        worker
        for worker in await view.services.workers.list()
        if (not worker.roles or role in worker.roles) and not names.isdisjoint(worker.handlers)
    ]
    return Crew(workers=found[:MOST_WORKERS], number=len(found))


async def read_keys(view: View, role: str, handler: str | None = None) -> list[TasksOfKey]:
    """Return the keys with most tasks, among the newest 500 waiting and the newest 500 running ones."""
    tasks = view.services.tasks
    waiting = await tasks.list(TaskFilter(state="ready", role=role, handler=handler, limit=MOST_WAITING))
    running = await tasks.list(TaskFilter(state="running", role=role, handler=handler, limit=MOST_RUNNING))
    waits, runs = (Counter(task.key for task in page.items if task.key is not None) for page in (waiting, running))
    return [TasksOfKey(key=key, waiting=waits[key], running=runs[key]) for key, _ in (waits + runs).most_common(SHOWN)]


async def read_work(view: View, role: str, handler: str | None = None) -> Work:
    """Return the tasks that have run longest, the longest first (of the newest 500 running ones), and the latest."""
    tasks = view.services.tasks
    running = await tasks.list(TaskFilter(state="running", role=role, handler=handler, limit=MOST_RUNNING))
    latest = await tasks.list(TaskFilter(role=role, handler=handler, limit=SHOWN))
    longest = sorted(running.items, key=lambda task: task.started_at or task.claimed_at or LATEST)[:SHOWN]
    return Work(running=longest, latest=latest.items)
