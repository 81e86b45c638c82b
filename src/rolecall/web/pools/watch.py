"""Looks at a pool for the page of all pools: whether its database responds, and its figures.

    show ──► a look within the last seconds? ──yes──► its result
               │ no
               └──► one look for all viewers ──► wait for it at most PATIENCE ──► the result, or the previous one

The figures come from the overview of the pool, whose results all viewers share as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic

from fastapi import FastAPI, Request

from rolecall.model.errors import DatabaseUnavailable, RolecallError, TooManyRequests
from rolecall.model.operator.access import Scope, Session
from rolecall.model.operator.overview import Alert
from rolecall.service.alerts import visible_to
from rolecall.service.overview import Overview
from rolecall.web.api.health import require_ready
from rolecall.web.http.requests import root_of
from rolecall.web.pools.place import Place
from rolecall.web.state import WebState

# Seconds.
LOOK_EVERY = 2.0
PATIENCE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSummary:
    """The figures of a pool. `ready` tasks can run now, the oldest since `waiting_since`."""

    problems: int
    ready: int
    waiting_since: datetime | None
    running: int
    slots: int
    failed_last_hour: int
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """A pool as a caller sees it, who may read its figures if `may_read`.

    `away_since` is set while the pool cannot be used, for the reason `away`. `figures` are missing then, and also while
    the database is slow.
    """

    name: str
    path: str
    away: str | None = None
    away_since: datetime | None = None
    may_read: bool = False
    figures: PoolSummary | None = None


class PoolWatch:
    """A pool of the server: its application, and the latest look at it."""

    def __init__(self, place: Place, application: FastAPI) -> None:
        self.place = place
        self.application = application
        self.state: WebState = application.state.rolecall
        self._away: DatabaseUnavailable | None = None
        self._away_since: datetime | None = None
        self._figures: PoolSummary | None = None
        self._alerts: Sequence[Alert] = ()
        self._look: asyncio.Task[None] | None = None
        self._next_look = 0.0
        self._one_by_one = asyncio.Lock()

    def begin(self) -> None:
        """Begin a look, unless there is one or the latest one is recent."""
        if (self._look is None or self._look.done()) and monotonic() >= self._next_look:
            self._look = asyncio.create_task(self._examine(), name=f"rolecall-look-{self.place.name}")

    async def close(self) -> None:
        """Abandon a look that has begun."""
        if self._look is not None and self._look.cancel():
            await asyncio.wait({self._look})

    async def show(self, request: Request) -> PoolState:
        """Return the state of the pool for the sender of a request to the server. Raises NotAllowed."""
        _, scope = await asyncio.gather(self._renew(), self._scope_of(self.request_for(request)))
        return PoolState(
            name=self.place.name,
            path=f"{self.place.mount_path}/",
            away=None if self._away is None else str(self._away),
            away_since=self._away_since,
            may_read=scope is not None,
            figures=self._figures_for(scope) if scope is not None else None,
        )

    def request_for(self, request: Request) -> Request:
        """Return a request to the server as one to the pool, whose cookies have other names."""
        root = root_of(request.scope) + self.place.mount_path
        return Request({**request.scope, "app": self.application, "root_path": root, "state": {}})

    async def open_session(self, request: Request) -> Session | None:
        """Open a session for a browser with the local token; None if the pool's database does not respond."""
        with suppress(DatabaseUnavailable, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                return await self.state.access.open_session(
                    self.request_for(request), seconds=self.state.logins.seconds
                )
        return None

    async def _renew(self) -> None:
        self.begin()
        if self._look is not None:
            done, _ = await asyncio.wait({self._look}, timeout=PATIENCE)
            for look in done:
                look.result()

    async def _examine(self) -> None:
        try:
            await require_ready(self.state)
        except DatabaseUnavailable as error:
            self._away, self._figures = error, None
            self._away_since = self._away_since or datetime.now(UTC)
        else:
            self._away = self._away_since = None
            self._figures, self._alerts = await _summarise(self.state.overview)
        self._next_look = monotonic() + LOOK_EVERY

    def _figures_for(self, scope: Scope) -> PoolSummary | None:
        # As many problems as the first page of the pool shows them.
        return self._figures and replace(self._figures, problems=len(visible_to(scope, self._alerts)))

    async def _scope_of(self, request: Request) -> Scope | None:
        """Return the scope of the sender if it allows reading. Without the database, nobody is known."""
        if self._away is not None:
            return None
        try:
            # One by one, because strangers can send anything, and their attempts are not counted here.
            async with asyncio.timeout(PATIENCE), self._one_by_one:
                caller = await self.state.access.find(request)
        except (TooManyRequests, DatabaseUnavailable, TimeoutError):
            return None
        return caller.scope if caller is not None and caller.scope.includes(Scope.READ) else None


async def _summarise(overview: Overview) -> tuple[PoolSummary | None, Sequence[Alert]]:
    """Return the figures and all alerts; None and nothing if the database is too slow."""
    try:
        figures, roles, (alerts, _) = await overview.figures(), await overview.roles(), await overview.alerts()
    except RolecallError:
        return None, ()
    summary = PoolSummary(
        problems=len(alerts),
        ready=figures.ready,
        waiting_since=min((role.waiting_since for role in roles if role.waiting_since), default=None),
        running=figures.running,
        slots=figures.slots,
        failed_last_hour=figures.failed_last_hour,
        workers=figures.workers,
    )
    return summary, alerts
