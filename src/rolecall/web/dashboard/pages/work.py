"""The tasks on the pages of a role and of a handler: those that have run longest, and the latest ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rolecall.model.operator.insight import TaskFilter
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.view import View

MOST_RUNNING = 500
SHOWN = 10
LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Tasks of a role, or of one of its handlers."""

    running: Sequence[TaskSummary]
    latest: Sequence[TaskSummary]


async def read_work(view: View, role: str, handler: str | None = None) -> Work:
    """Return the tasks that have run longest, the longest first (of the newest 500 running ones), and the latest."""
    tasks = view.services.tasks
    running = await tasks.list(TaskFilter(state="running", role=role, handler=handler, limit=MOST_RUNNING))
    latest = await tasks.list(TaskFilter(role=role, handler=handler, limit=SHOWN))
    longest = sorted(running.items, key=lambda task: task.started_at or task.claimed_at or LATEST)[:SHOWN]
    return Work(running=longest, latest=latest.items)
