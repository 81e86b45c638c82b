"""The objects that all requests of one server share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fastapi import FastAPI, Request
from psycopg_pool import AsyncConnectionPool

from rolecall.app import App
from rolecall.config import Settings
from rolecall.model.audit import Actor
from rolecall.model.errors import DatabaseUnavailable, NotAllowed
from rolecall.model.operator.access import Caller, Session
from rolecall.model.operator.doctor import DutyState
from rolecall.model.operator.overview import RoleGauges
from rolecall.service.database import Database, PooledDatabase
from rolecall.service.live import Live
from rolecall.service.overview import Overview
from rolecall.service.services import Services
from rolecall.service.shared import SharedResult
from rolecall.service.standby import Standby
from rolecall.service.waits import Waits
from rolecall.transport.brokers import RedisLink
from rolecall.web.dashboard.rendering import Renderer
from rolecall.web.fields.aliases import SecondNames
from rolecall.web.http.events import HEARTBEAT
from rolecall.web.http.rates import unmap_address
from rolecall.web.http.refusals import Refusals

LONGEST_READ = 5.0
# Methods that change nothing.
READ_METHODS = frozenset({"GET", "HEAD"})


class Access(Protocol):
    """Identifies callers and opens sessions. Raises NotAuthenticated for callers without access."""

    @property
    def has_sessions(self) -> bool:
        """Whether there are sessions, so that people can log out."""

    @property
    def browser_host(self) -> str | None:
        """The only host name under which cookies count; None if they count under every name."""

    def takes_cookies(self, request: Request) -> bool:
        """Return whether cookies count under the host name of the request."""

    async def identify(self, request: Request) -> Caller: ...

    async def find(self, request: Request) -> Caller | None:
        """Return the sender of a request that changes nothing; None for one without access, which is not recorded."""

    async def still_admits(self, request: Request) -> bool:
        """Return whether the sender of a request that is still being answered would be admitted now."""

    async def is_token(self, request: Request, token: str) -> bool:
        """Return whether this is the local token. Raises NotAllowed, and TooManyRequests after too many wrong ones."""

    async def open_session(self, request: Request, *, seconds: int) -> Session:
        """Open a session for a browser that has shown the local token. Raises NotAllowed if there is no token."""


class SessionOpener(Protocol):
    """Opens sessions by name and password, and changes passwords."""

    @property
    def seconds(self) -> int: ...

    async def open(self, request: Request, name: str, password: str) -> Session: ...

    async def change_password(self, request: Request, caller: Caller, current: str, new: str) -> Session: ...

    async def close(self, request: Request, caller: Caller) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebState:
    """Settings, pools, app and shared services of one server.

    `reads` is the pool for queries, `standby` one for a copy of the database. `refusals` records refused callers.
    `heartbeat` is the interval of a quiet stream's heartbeats in seconds. `closing` is set when the server begins to
    stop, which ends streams. `redis` counts the requests of all servers together.
    """

    settings: Settings
    pool: AsyncConnectionPool[Any]
    reads: AsyncConnectionPool[Any]
    app: App
    names: SecondNames
    access: Access
    logins: SessionOpener
    live: Live
    waits: Waits
    overview: Overview
    gauges: SharedResult[list[RoleGauges]]
    duties: SharedResult[list[DutyState]]
    pages: Renderer
    refusals: Refusals
    redis: RedisLink | None = None
    standby: Standby | None = None
    heartbeat: float = HEARTBEAT
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    def services(self, caller: Caller, database: Database | None = None, queries: Database | None = None) -> Services:
        """Return the services for a caller, who is recorded in the audit log; by default on the pool."""
        database = database or self._primary(caller)
        return Services(database, self.settings, overview=self.overview, checks=self.app.checks, queries=queries)

    def services_for(self, request: Request, caller: Caller) -> Services:
        """Return the services for a request. Queries may use the standby."""
        if self.standby is None:
            return self.services(caller)
        if request.method in READ_METHODS:
            return self.services(caller, queries=self.standby.database_for(self._primary(caller)))
        self.standby.note_change(caller.actor.name)
        return self.services(caller)

    async def find_slowness(self, caller: Caller, error: DatabaseUnavailable) -> str | None:
        """Return why a query failed if it was only slow, as the rest of a sentence. None if the database is away."""
        return await self._primary(caller).find_slowness(error)

    def _primary(self, caller: Caller) -> PooledDatabase:
        return PooledDatabase(self.pool, caller.actor, self.reads, LONGEST_READ, self.app.emitter)


def set_state(application: FastAPI, state: WebState) -> None:
    application.state.rolecall = state
    application.state.closing = (state.closing,)


def state_of(request: Request) -> WebState:
    state: WebState = request.app.state.rolecall
    return state


def require_cookies(request: Request) -> None:
    """Raise NotAllowed if cookies do not count for this request. Called before a login that sets one."""
    if not state_of(request).access.takes_cookies(request):
        raise NotAllowed(
            "browsers must log in under another host name of this server: open the address with the local token first. "
            "Programs must send an API key or the token (`Authorization: Bearer ...`)"
        )


def note_refusal(
    request: Request, action: str, about: Mapping[str, str] | None = None, actor: Actor | None = None
) -> None:
    """Record a refusal, by default of an unknown actor, without waiting."""
    who = actor or Actor(name="nobody", via="api", origin=address_of(request))
    state_of(request).refusals.note(who, action, about or {})


def address_of(request: Request) -> str | None:
    """Return the network address that a request came from, if known."""
    return unmap_address(request.client.host) if request.client else None
