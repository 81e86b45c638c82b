"""Probes for liveness and readiness, which need no key, and the doctor, for operators."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import Request
from pydantic import BaseModel

from rolecall.db.migrations import ROLECALL
from rolecall.db.migrator import check_async
from rolecall.db.run import translating_errors
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.model.handoff import HandoffState
from rolecall.model.operator.doctor import Diagnosis
from rolecall.model.operator.overview import Alert
from rolecall.web.dependencies import Operates, Reads
from rolecall.web.routers import api_router
from rolecall.web.state import WebState, state_of

router = api_router(tags=["health"])
doctor_router = api_router(prefix="/api/doctor", tags=["health"])
problems_router = api_router(prefix="/api/problems", tags=["health"])
status_router = api_router(prefix="/api/status", tags=["health"])

PATIENCE = 3.0


class Health(BaseModel):
    """The response of a working server."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
async def is_alive() -> Health:
    """Confirm that this process runs."""
    return Health()


@router.get("/readyz")
async def is_ready(request: Request) -> Health:
    """Check that the database responds with the expected schema, including the app's; 503 with the reason otherwise."""
    await require_ready(state_of(request))
    return Health()


async def require_ready(state: WebState) -> None:
    """Raise DatabaseUnavailable if this server cannot serve requests now."""
    if state.closing.is_set():
        raise DatabaseUnavailable("this server is shutting down")
    try:
        async with asyncio.timeout(PATIENCE):
            with translating_errors():
                async with state.pool.connection(timeout=PATIENCE) as connection:
                    await check_async(connection, ROLECALL, *state.app.migrations)
    except (DatabaseUnavailable, TimeoutError):
        # The driver's message contains host and user names, and this route is public.
        raise DatabaseUnavailable("the database does not respond") from None
    except DatabaseError as error:
        raise DatabaseUnavailable(str(error)) from None


class Status(BaseModel):
    """The database responds. `handoff` is the state of the Redis hand-off, or why it does not work; null without
    one.
    """

    status: Literal["ok"] = "ok"
    handoff: HandoffState | None = None


@status_router.get("")
async def status(request: Request, services: Reads) -> Status:
    """Check that the database responds, and return the state of the Redis hand-off. Only a missing database gives a
    503.
    """
    await require_ready(state_of(request))
    return Status(handoff=await services.handoff.show())


@doctor_router.get("")
async def examine(services: Operates) -> Diagnosis:
    """Return all findings about the server and the workers, worst first. This can take seconds."""
    return await services.doctor.examine()


@problems_router.get("")
async def list_problems(services: Reads) -> list[Alert]:
    """Return the current problems of the pool, the worst first.

    A `path` is a page of the dashboard. The query of a path to tasks also works for `GET /api/tasks`.
    """
    return await services.problems.list()
