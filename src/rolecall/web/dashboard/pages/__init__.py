"""The routes of pages, one module for each page."""

from __future__ import annotations

from rolecall.web.dashboard.pages import (
    bulk_actions,
    capacity,
    chains,
    changes,
    errors,
    handlers,
    jobs,
    keys,
    login,
    overview,
    roles,
    saved_views,
    schedules,
    sessions,
    suggestions,
    task,
    tasks,
    trees,
    workers,
)
from rolecall.web.dashboard.routing import Pages

PAGES: tuple[Pages, ...] = (
    overview.router,
    trees.router,
    chains.router,
    jobs.router,
    roles.router,
    handlers.router,
    keys.router,
    schedules.router,
    workers.router,
    changes.router,
    sessions.router,
    errors.router,
    bulk_actions.router,
    saved_views.router,
    suggestions.router,
    tasks.router,
    task.router,
    capacity.router,
    login.router,
)
