"""The pages, a module each: routes that call a service and name a template."""

from __future__ import annotations

from rolecall.web.dashboard.pages import (
    audit,
    capacity,
    chains,
    jobs,
    keys,
    login,
    overview,
    roles,
    schedule_changes,
    schedules,
    task,
    task_actions,
    task_bulk,
    tasks,
    trees,
    workers,
)
from rolecall.web.dashboard.routing import Pages

__all__ = ["PAGES"]

PAGES: tuple[Pages, ...] = (
    overview.router,
    trees.router,
    chains.router,
    jobs.router,
    roles.router,
    keys.router,
    schedules.router,
    schedule_changes.router,
    workers.router,
    audit.router,
    tasks.router,
    task_bulk.router,
    task.router,
    task_actions.router,
    capacity.router,
    login.router,
)
