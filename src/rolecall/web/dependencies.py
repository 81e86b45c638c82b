"""The dependencies of routes: services, whose type sets the required scope, and connections for the app's own tables.

@router.get("/roles")
async def list_roles(services: Reads) -> list[DeclaredRole]: ...

Every route of an app's router must declare a scope, so that none is public by mistake.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_type_hints

import psycopg
from fastapi import APIRouter, Depends, Request, Security, routing
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from psycopg_pool import AsyncConnectionPool

from rolecall.app import App
from rolecall.db.run import translating_errors
from rolecall.model.audit import Via
from rolecall.model.errors import InvalidDeclaration, NotAllowed
from rolecall.model.operator.access import Caller, Scope
from rolecall.service.services import Services
from rolecall.web.state import note_refusal, state_of

# The routes below a list of routes. Older versions of FastAPI copy the routes of an included router into one list.
iter_routes: Callable[[Iterable[Any]], Iterator[Any]] = getattr(routing, "iter_route_contexts", iter)
# Documents the header in OpenAPI. Access identifies the caller, by header or by cookie.
BearerCredentials = Annotated[
    HTTPAuthorizationCredentials | None, Security(HTTPBearer(auto_error=False, description="rk_..."))
]


async def caller_of(request: Request) -> Caller:
    """Identify the caller by the headers of the request, once per request.

    Raises NotAuthenticated, NotAllowed, TooManyRequests.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        caller = request.state.caller = await state_of(request).access.identify(request)
    return caller


async def identify(request: Request, _credentials: BearerCredentials) -> Caller:
    """The dependency of every route that is not public."""
    return await caller_of(request)


KnownCaller = Annotated[Caller, Depends(identify)]


async def admit_anybody() -> None:
    """The dependency of routes that are public on purpose."""


Anybody = Annotated[None, Depends(admit_anybody)]


@dataclass(frozen=True, slots=True)
class Requires:
    """The dependency that checks the caller's scope and returns the services. `via` is recorded in the audit log.

    Without a scope, every authenticated caller passes.
    """

    scope: Scope | None
    via: Via = "api"

    async def __call__(self, request: Request, caller: KnownCaller) -> Services:
        actor = replace(caller.actor, via=self.via)
        if self.scope is not None and not caller.scope.includes(self.scope):
            route = f"{request.method} {request.scope['route'].path}"
            about = {"requested": route, "needs": self.scope.value, "has": caller.scope.value}
            note_refusal(request, "scopes.refused", about, actor)
            raise NotAllowed(
                f"this needs the scope {self.scope.value!r}, but {caller.actor.name!r} has {caller.scope.value!r}"
            )
        return state_of(request).services_for(request, replace(caller, actor=actor))


# For routes that show and change only what belongs to the caller.
Enters = Annotated[Services, Depends(Requires(None))]
Owns = Annotated[Services, Depends(Requires(Scope.OWN))]
Reads = Annotated[Services, Depends(Requires(Scope.READ))]
Operates = Annotated[Services, Depends(Requires(Scope.OPERATE))]
Administers = Annotated[Services, Depends(Requires(Scope.ADMIN))]


@dataclass(frozen=True, slots=True)
class Connections:
    """Lends autocommit connections for short use: `async with connects() as connection: ...`.

    Errors of the database inside the block are raised as RolecallError.
    """

    pool: AsyncConnectionPool[Any]

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        with translating_errors():
            async with self.pool.connection() as connection:
                yield connection


def _connections(request: Request) -> Connections:
    return Connections(state_of(request).pool)


Connects = Annotated[Connections, Depends(_connections)]


@dataclass(frozen=True, slots=True)
class Mounted:
    """The dependency that returns the object of a class that the app has mounted with its routers.

    Shop = Annotated[ShopFiles, Depends(Mounted(ShopFiles))]  # app.mount("shop.api:router", ShopFiles(folder))

    Raises LookupError for a class without an object.
    """

    kind: type[object]

    async def __call__(self, request: Request) -> object:
        for mount in state_of(request).app.mounts:
            for each in mount.objects:
                if isinstance(each, self.kind):
                    return each
        raise LookupError(f"the app mounts no {self.kind.__name__}")


# Before 0.122, FastAPI does not resolve the annotations of an object with __call__.
for each_class in (Requires, Mounted):
    each_class.__call__.__annotations__ = get_type_hints(each_class.__call__, include_extras=True)


def routers_of(app: App) -> Iterator[APIRouter]:
    """Yield the app's routers. Raises InvalidDeclaration for anything but a router, and for a route without a scope."""
    for mount in app.mounts:
        router = mount.router()
        if not isinstance(router, APIRouter):
            raise InvalidDeclaration(f"an app mounts FastAPI routers, not a {type(router).__name__}")
        for route in iter_routes(router.routes):
            _require_scope(route)
        yield router


def _require_scope(route: Any) -> None:
    dependant = getattr(route, "dependant", None)
    if not (isinstance(dependant, Dependant) and _declares_scope(dependant)):
        raise InvalidDeclaration(
            f"the route {route.path} has no scope: let it take Reads, Operates, Administers or Anybody of rolecall.web"
        )


def _declares_scope(dependant: Dependant) -> bool:
    is_declared = isinstance(dependant.call, Requires) or dependant.call is admit_anybody
    return is_declared or any(map(_declares_scope, dependant.dependencies))
