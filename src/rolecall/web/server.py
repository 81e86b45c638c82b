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
from collections.abc import Callable, Collection, Iterator, Mapping
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
from rolecall.model.errors import RolecallError
from rolecall.model.start_up import without_collections
from rolecall.service.dispatching import dispatcher_of
from rolecall.service.notifications import relay_of
from rolecall.transport.waker import comes_within
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
# Seconds between two checks whether a pool has its schema.
RETRY_EVERY = 15.0
log = logging.getLogger("rolecall.web")


def serve(dsn: str, app: App, settings: Settings, listener: socket.socket) -> None:
    """Serve requests until SIGTERM, SIGINT or SIGHUP, then let running ones finish within ten seconds."""
    server = _make_server(lambda hosts: build(dsn, app, settings, hosts=hosts), settings, listener)
    with upkeep(dsn, app, settings):
        run(server.serve(sockets=[listener]))


def serve_pools(pools: Mapping[str, str], app: App, settings: Settings, listener: socket.socket) -> None:
    """Serve several pools, by their names and connection strings. A pool that is away does not delay the others.

    Raises ConfigError for settings that pools cannot share.
    """
    from rolecall.web.pools.application import build_pools, settings_of  # noqa: PLC0415 - often not needed

    server = _make_server(lambda hosts: build_pools(pools, app, settings, hosts=hosts), settings, listener)
    with _keeping(*(_BackgroundUpkeep(name, dsn, app, settings_of(settings, dsn)) for name, dsn in pools.items())):
        run(server.serve(sockets=[listener]))


def _make_server(
    make: Callable[[Collection[str] | None], FastAPI], settings: Settings, listener: socket.socket
) -> Server:
    hosts = None if settings.access.auth is AuthMode.keys else LOCAL_NAMES | {host_of(listener)}
    with without_collections():
        application = make(hosts)
        precompute_routes(application)
    return Server(application, settings.access, Bounds().within(raise_file_limit()))


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
        self._closing: Collection[asyncio.Event] = application.state.closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Set `closing`, stop accepting connections, and wait for running requests."""
        for event in self._closing:
            event.set()
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
    with _keeping(_Upkeep(dsn, app, settings)):
        yield


@contextmanager
def _keeping(*threads: _Upkeep) -> Iterator[None]:
    for thread in threads:
        thread.begin()
    try:
        yield
    finally:
        for thread in threads:
            thread.stop()
        for thread in threads:
            thread.join()
        threads[0].app.emitter.flush()


class _Upkeep:
    def __init__(self, dsn: str, app: App, settings: Settings) -> None:
        self.app = app
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

    def stop(self) -> None:
        """Let every duty end after its current run."""
        self._has_begun.result().call_soon_threadsafe(self._stop)

    def join(self) -> None:
        """Wait for the end, at most five seconds."""
        self._thread.join(END_WITHIN)

    def _stop(self) -> None:
        self._runner.stop()
        self._session.give_up()

    async def _run_forever(self) -> None:
        try:
            if await self._put_right():
                await self._run_duties()
        finally:
            await self._session.close()

    async def _put_right(self) -> bool:
        try:
            await _put_right(self._session, self.app)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            self._has_begun.set_exception(error)
            return False
        log.info("Answering requests")
        self._has_begun.set_result(asyncio.get_running_loop())
        return True

    async def _run_duties(self) -> None:
        tasks = {asyncio.create_task(each.run()) for each in self._tasks}
        await self._runner.run()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class _BackgroundUpkeep(_Upkeep):
    """The upkeep of one of several pools. It begins as soon as the pool can be used, and nothing waits for that."""

    def __init__(self, name: str, dsn: str, app: App, settings: Settings) -> None:
        super().__init__(dsn, app, settings)
        self._name = name
        self._is_stopping = asyncio.Event()

    def _stop(self) -> None:
        self._is_stopping.set()
        super()._stop()

    async def _put_right(self) -> bool:
        self._has_begun.set_result(asyncio.get_running_loop())
        while not self._is_stopping.is_set():
            try:
                await _put_right(self._session, self.app)
            except RolecallError as error:
                log.warning("The pool %s has no maintenance by this server yet: %s", self._name, error)
                await comes_within(self._is_stopping, RETRY_EVERY)
            else:
                log.info("Maintaining the pool %s", self._name)
                return True
        return False


async def _put_right(session: DatabaseSession, app: App) -> None:
    app.check()
    await declare(session, app)
    telling = EmittingSession(session, app.emitter)
    await duties.rescue(telling)
    await duties.fire(telling)
