"""Which scope a route needs: said in its signature, by the kind of services that it takes.

@router.get("/roles")
async def list_roles(services: Reads) -> list[DeclaredRole]: ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from rolecall.model.access import Caller, Scope
from rolecall.model.audit import Via
from rolecall.model.errors import NotAllowed
from rolecall.service.services import Services
from rolecall.web.state import note_refusal, state_of

__all__ = ["Administers", "KnownCaller", "Operates", "Reads", "Requires"]

# The document of the API tells of it; who asks is for Access to find out, which knows cookies too.
Shown = Annotated[HTTPAuthorizationCredentials | None, Security(HTTPBearer(auto_error=False, description="rk_..."))]


async def identify(request: Request, _shown: Shown) -> Caller:
    """The dependency that lets nobody unknown pass."""
    caller = await state_of(request).access.identify(request)
    request.state.caller = caller
    return caller


KnownCaller = Annotated[Caller, Depends(identify)]


@dataclass(frozen=True, slots=True)
class Requires:
    """The dependency that lets a request pass, and hands it the services; `via` names the shell in the audit log."""

    scope: Scope
    via: Via = "api"

    async def __call__(self, request: Request, caller: KnownCaller) -> Services:
        actor = replace(caller.actor, via=self.via)
        if not caller.scope.includes(self.scope):
            asked = f"{request.method} {request.scope['route'].path}"
            about = {"asked": asked, "needs": self.scope.value, "has": caller.scope.value}
            note_refusal(request, "scopes.refused", about, actor)
            raise NotAllowed(
                f"this needs the scope {self.scope.value!r}, and {caller.actor.name!r} has {caller.scope.value!r}"
            )
        return state_of(request).services(replace(caller, actor=actor))


Reads = Annotated[Services, Depends(Requires(Scope.READ))]
Operates = Annotated[Services, Depends(Requires(Scope.OPERATE))]
Administers = Annotated[Services, Depends(Requires(Scope.ADMIN))]
