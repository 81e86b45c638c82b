"""The sessions that a caller can see and end: their own, or all of them for an admin."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request

from rolecall.model.errors import SessionNotFound
from rolecall.model.operator.access import Caller, OpenSession, Scope
from rolecall.service.services import Services
from rolecall.web.state import state_of

SessionId = Annotated[str, Path(max_length=16)]


async def sessions_of(request: Request, services: Services, caller: Caller) -> list[OpenSession]:
    """List the open sessions that the caller can see, newest first."""
    idle = state_of(request).settings.access.session_idle_minutes * 60
    if caller.scope is Scope.ADMIN:
        return await services.sessions.list(idle=idle)
    return [] if caller.person_id is None else await services.sessions.list(idle=idle, person_id=caller.person_id)


async def end_session_of(services: Services, caller: Caller, session_id: str) -> None:
    """End a session if the caller is allowed to. Raises SessionNotFound."""
    if caller.scope is Scope.ADMIN:
        await services.sessions.end(session_id)
    elif caller.person_id is not None:
        await services.sessions.end(session_id, person_id=caller.person_id)
    else:
        raise SessionNotFound(f"there is no open session {session_id!r} that you can end")
