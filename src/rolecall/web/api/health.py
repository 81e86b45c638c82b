"""Does the process live, and can it answer? For probes, which have no key. And the doctor, who tells operators more."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel

from rolecall.db.migrator import ROLECALL, check_async
from rolecall.db.run import translated
from rolecall.model.doctor import Diagnosis
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.model.handoff import HandoffNow
from rolecall.web.dependencies import Operates, Reads
from rolecall.web.state import WebState, state_of

router = APIRouter(tags=["health"])
doctor_router = APIRouter(prefix="/api/doctor", tags=["health"])
status_router = APIRouter(prefix="/api/status", tags=["health"])

PATIENCE = 3.0


class Health(BaseModel):
    """The only good answer; anything else is a problem document."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
async def is_alive() -> Health:
    """Say that this process lives."""
    return Health()


@router.get("/readyz")
async def is_ready(request: Request) -> Health:
    """Say that the database answers and has this release's schema, and the app's; 503 with the reason otherwise."""
    await require_ready(state_of(request))
    return Health()


async def require_ready(state: WebState) -> None:
    """Raise DatabaseUnavailable where this server cannot answer for the moment."""
    if state.closing.is_set():
        raise DatabaseUnavailable("this server is about to stop")
    try:
        async with asyncio.timeout(PATIENCE):
            with translated():
                async with state.pool.connection(timeout=PATIENCE) as connection:
                    await check_async(connection, ROLECALL, *state.app.migrations)
    except (DatabaseUnavailable, TimeoutError):
        # What the driver says names hosts and users, and anybody may ask this.
        raise DatabaseUnavailable("the database does not answer") from None
    except DatabaseError as error:
        raise DatabaseUnavailable(str(error)) from None


class Status(BaseModel):
    """The database answers; what Redis hands over, where it does, or why it does not."""

    status: Literal["ok"] = "ok"
    handoff: HandoffNow | None = None


@status_router.get("")
async def status(request: Request, services: Reads) -> Status:
    """Say that the database answers, and how the hand-off by Redis is doing: 503 without the database alone."""
    await require_ready(state_of(request))
    return Status(handoff=await services.handoff.show())


@doctor_router.get("")
async def examine(services: Operates) -> Diagnosis:
    """Everything that is wrong with the server and the workers, the worst first; it takes a moment."""
    return await services.doctor.examine()
