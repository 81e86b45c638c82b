"""The HTTP application: its routes, error handlers, and the pools that live as long as it does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import fields
from importlib.metadata import version
from operator import attrgetter
from types import MappingProxyType

from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp

from rolecall.app import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.db.connect import connect_async
from rolecall.db.pooler import Pooler
from rolecall.db.pools import async_pool
from rolecall.model.audit import Actor
from rolecall.model.errors import ConfigError, InvalidDeclaration
from rolecall.service.database import PooledDatabase
from rolecall.service.handoff import Handoff
from rolecall.service.live import Live
from rolecall.service.overview import Overview
from rolecall.service.shared import SharedResult
from rolecall.service.standby import Standby
from rolecall.service.waits import Waits
from rolecall.sql import doctor, overview
from rolecall.transport.brokers import RedisAway, connect_redis
from rolecall.web import documentation
from rolecall.web.access.identity import ForwardingGuard, KeysAndSessions, LocalToken, NoAuthentication
from rolecall.web.access.logins import Logins
from rolecall.web.api import ROUTERS
from rolecall.web.api.schedules import NewSchedule
from rolecall.web.dashboard import assets
from rolecall.web.dashboard.pages import PAGES
from rolecall.web.dashboard.rendering import Renderer, renderer
from rolecall.web.dashboard.routing import Pages, answer_pages
from rolecall.web.dependencies import caller_of, iter_routes, routers_of
from rolecall.web.fields.aliases import SecondNames
from rolecall.web.fields.new_tasks import TaskRequest
from rolecall.web.fields.task_filters import Listing
from rolecall.web.fields.views import ListedTask, ShownSchedule, ShownTask
from rolecall.web.http.compression import install_compression
from rolecall.web.http.limits import Limits
from rolecall.web.http.problems import answer_problems
from rolecall.web.http.rates import Rates
from rolecall.web.http.refusals import Refusals
from rolecall.web.http.requests import KnownHosts, SecurityHeaders
from rolecall.web.http.shared_rates import SharedRates
from rolecall.web.idempotency import install_idempotency
from rolecall.web.routers import shared_routes
from rolecall.web.state import LONGEST_READ, Access, WebState, set_state

CONNECTIONS = 8
# Seconds that a request waits for a free connection.
WAIT = 4.0
PATIENCE = 0.1
# Seconds for which all scrapes get the same gauges.
GAUGES_EVERY = 15.0
# Fields of the API, which no field alias or constant may shadow.
OWN_WORDS = frozenset().union(
    *(body.model_fields for body in (TaskRequest, Listing, NewSchedule)),
    *(map(attrgetter("name"), fields(shown)) for shown in (ListedTask, ShownTask, ShownSchedule)),
)
LOOKER = Actor(name="live", via="system")


class Application(FastAPI):
    """An application that serves only its own host names and adds security headers to every response.

    Both checks wrap all other middleware, so that they also apply to unexpected errors.
    """

    hosts: Collection[str] | None = None
    browser_host: str | None = None

    def build_middleware_stack(self) -> ASGIApp:
        return SecurityHeaders(KnownHosts(super().build_middleware_stack(), self.hosts, self.browser_host))


def build(dsn: str, app: App, settings: Settings | None = None, *, hosts: Collection[str] | None = None) -> FastAPI:
    """Build the application for a migrated database. The app's own routers come after the built-in ones.

    Without `hosts`, any host name is served. If `settings` sets no `auth`, API keys and logins are required.
    Raises InvalidDeclaration for an invalid router, and ConfigError for the mode `token` without a token.
    """
    settings = settings or Settings()
    mounted = tuple(routers_of(app))
    state = _state(dsn, app, settings, _pages_of(mounted))

    @asynccontextmanager
    async def lifespan(_application: FastAPI) -> AsyncIterator[None]:
        async with state.pool, state.reads, state.standby.pool if state.standby else nullcontext():
            writing = asyncio.create_task(state.refusals.run(), name="rolecall-refusals")
            try:
                yield
            finally:
                await state.live.close()
                await state.waits.close()
                state.refusals.stop()
                await writing
                if state.redis is not None:
                    with suppress(RedisAway):
                        await state.redis.close()

    application = Application(
        title="Rolecall",
        version=version("rolecall"),
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # the redirect would use the client's Host header
    )
    application.hosts, application.browser_host = hosts, state.access.browser_host
    set_state(application, state)
    answer_problems(application)
    answer_pages(application)
    documentation.complete(application, state.names)
    install_idempotency(application)
    application.add_middleware(Limits, identify=caller_of)
    install_compression(application)
    routers = (*ROUTERS, documentation.router, assets.router, *PAGES, *mounted)
    for router in routers:
        application.include_router(router)  # adds its lifespan
    application.router.routes = [route for router in routers for route in shared_routes(router)]
    # Overrides would apply to all applications.
    application.dependency_overrides = MappingProxyType({})  # type: ignore[assignment]  # so that setting one fails
    return application


def precompute_routes(application: FastAPI) -> None:
    """Compute what each route takes. Otherwise, the first request would take half a second longer."""
    deque(iter_routes(application.routes), maxlen=0)


def _names(app: App) -> SecondNames:
    for name in {*app.aliases, *app.constants} & OWN_WORDS:
        raise InvalidDeclaration(f"{name!r} is a field of the API, so it cannot be an alias or a constant")
    return SecondNames(aliases=app.aliases, constants=app.constants)


def _pages_of(routers: Iterable[APIRouter]) -> Renderer:
    pages = [router for router in routers if isinstance(router, Pages)]
    packages = [router.package for router in pages if router.package]
    return renderer(packages, [entry for router in pages for entry in router.entries])


def _state(dsn: str, app: App, settings: Settings, pages: Renderer) -> WebState:
    pooler = Pooler(configured=settings.database.pooled)
    pool = async_pool(dsn, "web", pooler, max_size=CONNECTIONS, timeout=WAIT)
    reads = async_pool(dsn, "web reads", pooler, max_size=CONNECTIONS, timeout=WAIT)
    # Its own connection. It connects with its first command.
    redis = connect_redis(settings.handoff.high) if settings.handoff.high else None
    rates, forwarding = (
        Rates(settings.access, SharedRates(redis) if redis else None),
        ForwardingGuard(only_direct=settings.access.auth in {AuthMode.token, AuthMode.off}),
    )
    closing = asyncio.Event()
    looking = PooledDatabase(reads, LOOKER, longest_read=LONGEST_READ)
    listen_dsn = settings.database.listen_url
    return WebState(
        settings=settings,
        pool=pool,
        reads=reads,
        standby=_standby(settings.database.standby_url),
        app=app,
        names=_names(app),
        access=_access(settings.access, rates, forwarding),
        logins=Logins(settings.access, rates, forwarding),
        live=Live(
            looking,
            lambda: connect_async(listen_dsn or dsn, "live"),
            closing,
            can_listen=lambda: listen_dsn is not None or not pooler.is_present,
        ),
        waits=Waits(looking),
        overview=Overview(looking, patience=PATIENCE, checks=app.checks, handoff=Handoff(settings.handoff, looking)),
        gauges=SharedResult(lambda: looking.run(overview.gauges()), seconds=GAUGES_EVERY, patience=WAIT),
        duties=SharedResult(lambda: looking.run(doctor.duties()), seconds=GAUGES_EVERY, patience=WAIT),
        pages=pages,
        refusals=Refusals(lambda actor, event, outcome: PooledDatabase(pool, actor).note(event, outcome)),
        redis=redis,
        closing=closing,
    )


def _standby(dsn: str | None) -> Standby | None:
    return Standby(async_pool(dsn, "web standby", max_size=CONNECTIONS, timeout=WAIT), LONGEST_READ) if dsn else None


def _access(settings: AccessSettings, rates: Rates, forwarding: ForwardingGuard) -> Access:
    match settings.auth:
        case AuthMode.off:
            return NoAuthentication(settings, forwarding)
        case AuthMode.token if settings.token is not None:
            return KeysAndSessions(settings, rates, forwarding, LocalToken(settings.token))
        case AuthMode.token:
            raise ConfigError("the local token is missing", variable="token")
        case AuthMode.keys | None:
            return KeysAndSessions(settings, rates, forwarding)
