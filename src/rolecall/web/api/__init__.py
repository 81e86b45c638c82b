"""The REST routes, one module for each subject. Static paths come before paths with an id."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.web.api import (
    access,
    bulk_actions,
    chains,
    error_groups,
    health,
    jobs,
    key_capacities,
    live,
    metrics,
    roles,
    saved_views,
    schedules,
    task_actions,
    tasks,
    workers,
)

ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    metrics.router,
    roles.capacity_router,
    health.doctor_router,
    health.problems_router,
    health.status_router,
    tasks.router,
    task_actions.router,
    task_actions.token_router,
    bulk_actions.router,
    saved_views.router,
    jobs.router,
    live.progress_router,
    live.router,
    chains.router,
    error_groups.router,
    roles.router,
    roles.handler_router,
    key_capacities.router,
    access.audit_router,
    workers.scaling_router,
    schedules.router,
    workers.router,
    access.key_router,
    access.login_router,
)
