"""The application of a server with several pools: one page over all of them, and each pool below its own path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import HTTPException
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Mount

from rolecall.app import App
from rolecall.config import ScalingSettings, Settings
from rolecall.model.errors import ConfigError, DatabaseUnavailable, NotAuthenticated
from rolecall.web.api.health import Health, is_alive, require_ready
from rolecall.web.application import Application, build
from rolecall.web.dashboard import assets
from rolecall.web.dashboard.rendering import PageContext, Renderer, renderer
from rolecall.web.dashboard.view import redirect
from rolecall.web.http.problems import answer_problems, http_problem
from rolecall.web.http.requests import API, path_below, root_of, set_session_cookie
from rolecall.web.pools.place import Place, Placed, mount_path
from rolecall.web.pools.watch import PoolState, PoolWatch

UNSHARED = "is for one database, so it cannot be combined with ROLECALL_POOLS"
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class _Front:
    pools: Sequence[PoolWatch]
    pages: Renderer

    async def states(self, request: Request) -> list[PoolState]:
        """Return the states of all pools for the sender of the request, looked at together."""
        return await asyncio.gather(*(pool.show(request) for pool in self.pools))


def build_pools(
    pools: Mapping[str, str], app: App, settings: Settings, *, hosts: Collection[str] | None = None
) -> FastAPI:
    """Build the application for the pools with these names and connection strings. All serve the same app.

    Raises the errors of `build`, and ConfigError for settings of one database that the pools would share.
    """
    _require_shareable(settings)
    watches = [
        PoolWatch(Place(name=name, names=tuple(pools)), build(dsn, app, settings_of(settings, dsn), hosts=hosts))
        for name, dsn in pools.items()
    ]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for pool in watches:
                await stack.enter_async_context(pool.application.router.lifespan_context(pool.application))
                stack.push_async_callback(pool.close)
                pool.begin()
            yield

    # The redirect to a path with a slash would use the client's Host header.
    front = Application(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    front.hosts, front.browser_host = hosts, watches[0].state.access.browser_host
    front.state.front = _Front(watches, renderer((), ()))
    front.state.closing = tuple(pool.state.closing for pool in watches)
    answer_problems(front)
    front.exception_handler(StarletteHTTPException)(_not_here)
    front.include_router(router)
    front.include_router(assets.router)
    for pool in watches:
        front.router.routes.append(Mount(pool.place.mount_path, Placed(pool.application, pool.place)))
    return front


def _require_shareable(settings: Settings) -> None:
    """Raise ConfigError for a setting that names a server or cluster of one pool."""
    database = settings.database
    for variable, is_set in {
        "ROLECALL_STANDBY_URL": database.standby_url,
        "ROLECALL_LISTEN_URL": database.listen_url,
        "ROLECALL_REDIS_URL": settings.handoff.high,
        "ROLECALL_NOTIFICATIONS": "://" in settings.notifications,
    }.items():
        if is_set:
            raise ConfigError(UNSHARED, variable=variable)


def settings_of(settings: Settings, dsn: str) -> Settings:
    """Return the settings of one of the pools. It cannot scale the cluster's workload, which may be that of another."""
    return replace(settings, database=replace(settings.database, url=dsn, pools={}), scaling=ScalingSettings())


def _front_of(request: Request) -> _Front:
    front: _Front = request.app.state.front
    return front


@router.get("/")
async def show_pools(request: Request) -> Response:
    """Show a row for each pool. The figures of a pool are shown to those who are logged in to it."""
    front = _front_of(request)
    states = await front.states(request)
    return front.pages.page("pools.html", PageContext(request=request), {"pools": states})


@router.get(f"{API}pools")
async def list_pools(request: Request) -> list[PoolState]:
    """Return the pools with their figures. Raises NotAuthenticated for senders who may read none of them."""
    states = await _front_of(request).states(request)
    if any(state.may_read for state in states):
        return states
    away = [state.name for state in states if state.away]
    if away:
        raise DatabaseUnavailable(f"no other pool knows the sender, and these are away: {', '.join(away)}")
    raise NotAuthenticated("log in to a pool, or send an API key of a pool with the scope 'read'")


@router.get("/pools/{name}")
async def go_to_pool(request: Request, name: str) -> Response:
    """Redirect to the first page of a pool."""
    if name not in {pool.place.name for pool in _front_of(request).pools}:
        raise HTTPException(404, "there is no such pool")
    return redirect(f"{root_of(request.scope)}{mount_path(name)}/")


@router.get("/enter")
async def enter(request: Request, token: str = "") -> Response:
    """Open a session in every pool for a browser with the local token. A pool that is away is entered later."""
    front = _front_of(request)
    first = front.pools[0]
    access, sent = first.state.access, first.request_for(request)
    if not await access.is_token(sent, token):
        raise NotAuthenticated("this is not the token of this server")
    if not access.takes_cookies(request):
        return redirect(str(request.url.replace(hostname=access.browser_host)))
    response = redirect(f"{root_of(request.scope)}/")
    sessions = await asyncio.gather(*(pool.open_session(request) for pool in front.pools))
    for pool, session in zip(front.pools, sessions, strict=True):
        if session is not None:
            set_session_cookie(pool.request_for(request), response, session, pool.state.logins.seconds)
    return response


router.get("/healthz")(is_alive)


@router.get("/readyz")
async def is_any_ready(request: Request) -> Health:
    """Check that at least one pool can be used, without waiting for the others; 503 otherwise."""
    checks = [asyncio.create_task(require_ready(pool.state)) for pool in _front_of(request).pools]
    try:
        for check in asyncio.as_completed(checks):
            with suppress(DatabaseUnavailable):
                await check
                return Health()
    finally:
        for each in checks:
            each.cancel()
        await asyncio.wait(checks)
    raise DatabaseUnavailable("no pool can be used")


async def _not_here(request: Request, error: StarletteHTTPException) -> Response:
    if "text/html" not in request.headers.get("accept", "") or path_below(request.scope).startswith(API):
        return http_problem(error)
    context = {
        "status": error.status_code,
        "phrase": HTTPStatus(error.status_code).phrase,
        "sentence": "There is no page at this address. Pages of a pool begin with /pools/ and its name.",
    }
    return _front_of(request).pages.page("error.html", PageContext(request=request), context, error.status_code)
