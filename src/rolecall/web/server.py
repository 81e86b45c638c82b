"""Serves the API in this process, after the pool's own upkeep has been begun in a thread beside it.

    thread:  schema fits? ──► declare the app ──► rescue ──► fire what is due ──► upkeep, until the end
                                                                   │
    here:                                                          └──► answer

The database is migrated by `rolecall up` and `rolecall migrate`, never here.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from rolecall.app import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.web.application import build, work_out_routes
from rolecall.web.hosts import LOCAL_NAMES, host_of
from rolecall.web.places import Bounds, raise_file_limit
from rolecall.web.protocol import bounded
from rolecall.web.upkeep import upkeep
from rolecall.worker.loop import run

__all__ = ["Server", "serve"]

GRACE = 10
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# A server ticks ten times a second.
TICKS = 10


def serve(dsn: str, app: App, settings: Settings, listener: socket.socket) -> None:
    """Answer requests until SIGTERM or SIGINT, then let those under way end within ten seconds."""
    hosts = None if settings.access.auth is AuthMode.keys else LOCAL_NAMES | {host_of(listener)}
    application = build(dsn, app, settings, hosts=hosts)
    work_out_routes(application)
    bounds = Bounds().within(raise_file_limit())
    with upkeep(dsn, app, pooled=settings.database.pooled):
        run(Server(application, settings.access, bounds).serve(sockets=[listener]))


class Server(uvicorn.Server):
    """A server within bounds, that tells its open streams to end before it waits for them."""

    def __init__(self, application: FastAPI, access: AccessSettings, bounds: Bounds | None = None) -> None:
        protocol, self._places = bounded(bounds or Bounds())
        super().__init__(
            uvicorn.Config(
                application,
                http=protocol,  # type: ignore[arg-type]  # it is only ever called
                ws="none",
                backlog=self._places.bounds.backlog,
                lifespan="on",
                log_config=None,
                log_level="error",  # the rest is a line for each request that makes no sense; the places count them
                access_log=False,
                server_header=False,
                forwarded_allow_ips=access.forwarded_by,
                root_path=access.root_path,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self._closing: asyncio.Event = application.state.rolecall.closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Set `closing`, accept nothing more, and wait for what is under way."""
        self._closing.set()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Every second, let the places end those who are too slow."""
        if counter % TICKS == 0:
            self._places.tick()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let the stop signals end this server, and not be raised again once it has ended."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)
