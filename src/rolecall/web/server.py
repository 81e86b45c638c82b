"""Serves the API in this process, with the pool's maintenance in a thread.

    thread:  check schema ──► declare the app ──► rescue ──► fire due schedules ──► maintenance, until the end
                                                                    │
    server:                                                         └──► serve requests

The database is migrated by `rolecall up` and `rolecall migrate`, never here. Maintenance is the same as in a worker. It
has its own event loop, so that requests cannot delay it. Any number of processes can run it, so schedules fire without
a worker.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

import uvicorn
from fastapi import FastAPI

from rolecall.app import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.maintenance import duties
from rolecall.maintenance.runner import MaintenanceRunner
from rolecall.maintenance.runs import EmittingSession
from rolecall.model.start_up import without_collections
from rolecall.service.dispatching import dispatcher_of
from rolecall.service.notifications import relay_of
from rolecall.web.application import build, precompute_routes
from rolecall.web.http.protocol import Bounds, make_protocol, raise_file_limit
from rolecall.web.http.requests import LOCAL_NAMES, host_of
from rolecall.worker.loop import run
from rolecall.worker.options import WorkerOptions
from rolecall.worker.registration import declare
from rolecall.worker.session import DatabaseSession, DatabaseSessions
from rolecall.worker.signals import handling_signals

GRACE = 10
# uvicorn ticks ten times a second.
TICKS = 10
END_WITHIN = 5.0
log = logging.getLogger("rolecall.web")


def serve(dsn: str, app: App, settings: Settings, listener: socket.socket) -> None:
    """Serve requests until SIGTERM, SIGINT or SIGHUP, then let running ones finish within ten seconds."""
    hosts = None if settings.access.auth is AuthMode.keys else LOCAL_NAMES | {host_of(listener)}
    with without_collections():
        application = build(dsn, app, settings, hosts=hosts)
        precompute_routes(application)
    bounds = Bounds().within(raise_file_limit())
    with upkeep(dsn, app, settings):
        run(Server(application, settings.access, bounds).serve(sockets=[listener]))


class Server(uvicorn.Server):
    """A server with limits, which ends its open streams before it waits for requests to finish."""

    def __init__(self, application: FastAPI, access: AccessSettings, bounds: Bounds | None = None) -> None:
        protocol, self._places = make_protocol(bounds or Bounds())
        super().__init__(
            uvicorn.Config(
                application,
                http=protocol,  # type: ignore[arg-type]  # it is only ever called
                ws="none",
                backlog=self._places.bounds.backlog,
                lifespan="on",
                log_config=None,
                log_level="error",  # below, it logs a line for each invalid request; the places count them
                access_log=False,
                server_header=False,
                forwarded_allow_ips=access.forwarded_by,
                root_path=access.root_path,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self._is_closing: asyncio.Event = application.state.rolecall.closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Set `closing`, stop accepting connections, and wait for running requests."""
        self._is_closing.set()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Close the connections of slow clients once a second."""
        if counter % TICKS == 0:
            self._places.tick()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop the server on a stop signal. The signal is not raised again afterwards."""
        with handling_signals(lambda number: self.handle_exit(number, None)):
            yield


@contextmanager
def upkeep(dsn: str, app: App, settings: Settings) -> Iterator[None]:
    """Declare the app, rescue tasks and fire schedules, then run maintenance until the block ends.

    If a broker is the transport, this also relays Postgres notifications. If Redis hands over tasks, it also dispatches
    them. Raises InvalidDeclaration, SchemaMissing, SchemaTooNew, ConfigError.
    """
    thread = _Upkeep(dsn, app, settings)
    thread.begin()
    try:
        yield
    finally:
        thread.end()
        app.emitter.flush()


class _Upkeep:
    def __init__(self, dsn: str, app: App, settings: Settings) -> None:
        self._app = app
        self._tasks = [each for each in (relay_of(dsn, settings), dispatcher_of(dsn, settings)) if each]
        pooled = settings.database.pooled
        self._session = DatabaseSessions(dsn, deadline=WorkerOptions().call_deadline, pooled=pooled).open("upkeep")
        self._runner = MaintenanceRunner(EmittingSession(self._session, app.emitter))
        self._has_begun: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon thread cannot delay the exit, whatever the database does.
        self._thread = Thread(target=lambda: run(self._run_forever()), name="rolecall-upkeep", daemon=True)

    def begin(self) -> None:
        """Return after the first rescue and the due schedules. A signal can interrupt it."""
        self._thread.start()
        self._has_begun.result()

    def end(self) -> None:
        """Stop every duty after its current run, and stop waiting after five seconds."""
        self._has_begun.result().call_soon_threadsafe(self._stop)
        self._thread.join(END_WITHIN)

    def _stop(self) -> None:
        self._runner.stop()
        self._session.give_up()

    async def _run_forever(self) -> None:
        try:
            await _put_right(self._session, self._app)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            self._has_begun.set_exception(error)
        else:
            log.info("Answering requests")
            self._has_begun.set_result(asyncio.get_running_loop())
            tasks = {asyncio.create_task(each.run()) for each in self._tasks}
            await self._runner.run()
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
        finally:
            await self._session.close()


async def _put_right(session: DatabaseSession, app: App) -> None:
    app.check()
    await declare(session, app)
    telling = EmittingSession(session, app.emitter)
    await duties.rescue(telling)
    await duties.fire(telling)
