"""A server with authentication, and its callers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from fastapi import FastAPI

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.config.handoff import HandoffSettings
from rolecall.model.audit import Actor
from rolecall.model.operator.access import Scope
from rolecall.service.database import PooledDatabase
from rolecall.service.services import Services
from rolecall.web import build
from rolecall.web.access.passwords import hash_password

PASSWORD = "correct horse battery staple"
SITE = "http://rolecall.test"
# A session reads the test's clock when it begins. Wait for each to end.
END_SESSIONS = """
select pg_terminate_backend(pid, 30000) from pg_stat_activity
where application_name = 'rolecall:web' and datname = current_database()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The server, and its services without HTTP."""

    application: Any
    services: Services
    client: httpx2.AsyncClient
    secrets: dict[Scope, str] = field(default_factory=dict)

    async def key(self, scope: Scope) -> dict[str, str]:
        """Return the headers with a key of this scope, which is created if there is none yet."""
        if scope not in self.secrets:
            self.secrets[scope] = (await self.services.keys.create(scope.value, scope)).secret
        return {"authorization": f"Bearer {self.secrets[scope]}"}

    async def person(self, name: str = "ada", scope: Scope = Scope.ADMIN) -> None:
        """Add a person who can log in with PASSWORD."""
        await self.services.people.add(name, scope, hash_password(PASSWORD))

    async def log_in(self, name: str = "ada", password: str = PASSWORD) -> httpx2.Response:
        """Log in; the client keeps the cookie."""
        return await self.client.post("/api/login", json={"name": name, "password": password})


def unguarded(dsn: str, app: App, settings: Settings | None = None) -> FastAPI:
    """Return the application with `--auth off`: callers on this machine have all rights."""
    return build(dsn, app, replace(settings or Settings(), access=AccessSettings(auth=AuthMode.off)))


@asynccontextmanager
async def opened(
    dsn: str,
    base_url: str = SITE,
    app: App | None = None,
    redis: str | None = None,
    hosts: Collection[str] | None = None,
    **settings: Any,
) -> AsyncIterator[Door]:
    """Open a server with other settings than the defaults."""
    access = AccessSettings(**{"auth": AuthMode.keys, **settings})
    handoff = HandoffSettings(low=redis, high=redis)
    application = build(dsn, app or App("test"), Settings(access=access, handoff=handoff), hosts=hosts)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url=base_url) as client,
    ):
        services = Services(PooledDatabase(application.state.rolecall.pool, Actor(name="root", via="cli")))
        yield Door(application=application, services=services, client=client)
