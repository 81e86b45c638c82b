"""Serves the API in this process, after the pool's own upkeep has been begun.

    schema fits? ──► declare the app ──► rescue ──► ensure schedules ──► fire what is due ──► upkeep ──► answer

The upkeep is that of a worker: any number of processes may do it, so schedules fire without a worker as well.
The database is migrated by `rolecall up` and `rolecall migrate`, never here.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI

from rolecall.app import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.maintenance import fire, rescue
from rolecall.maintenance.crew import Crew
from rolecall.web.application import build, work_out_routes
from rolecall.web.hosts import LOCAL_NAMES, host_of
from rolecall.worker.entry import declare
from rolecall.worker.loop import run
from rolecall.worker.options import WorkerOptions
from rolecall.worker.session import Session, Sessions

__all__ = ["serve"]

GRACE = 10
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger("rolecall.web")


def serve(dsn: str, app: App, settings: Settings, listener: socket.socket) -> None:
    """Answer requests until SIGTERM or SIGINT, then let those under way end within ten seconds."""
    run(_serve(dsn, app, settings, listener))


async def _serve(dsn: str, app: App, settings: Settings, listener: socket.socket) -> None:
    hosts = None if settings.access.auth is AuthMode.keys else LOCAL_NAMES | {host_of(listener)}
    application = build(dsn, app, settings, hosts=hosts)
    work_out_routes(application)
    async with _upkeep(dsn, app, pooled=settings.database.pooled):
        await Server(application, settings.access).serve(sockets=[listener])


class Server(uvicorn.Server):
    """A server that tells its open streams to end before it waits for them."""

    def __init__(self, application: FastAPI, access: AccessSettings) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                lifespan="on",
                log_config=None,
                log_level="warning",
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


@asynccontextmanager
async def _upkeep(dsn: str, app: App, *, pooled: bool | None) -> AsyncIterator[None]:
    session = Sessions(dsn, deadline=WorkerOptions().call_deadline, pooled=pooled).open("upkeep")
    try:
        await _begin(session, app)
        log.info("Answering requests")
        crew = Crew(session)
        working = asyncio.create_task(crew.run(), name="rolecall-upkeep")
        try:
            yield
        finally:
            crew.stop()
            session.give_up()
            await working
    finally:
        await session.close()


async def _begin(session: Session, app: App) -> None:
    app.check()
    await declare(session, app)
    await rescue.run_once(session)
    await fire.run_once(session)
