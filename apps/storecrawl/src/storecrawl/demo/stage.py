"""Everything that a demo runs: its folder, database, local upstream, workers and dashboard."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar, Unpack

from rolecall import App
from storecrawl.app import build_app
from storecrawl.demo.database import Connection, Database
from storecrawl.demo.machine import (
    API_LOG,
    API_TOKEN,
    LOOPBACK,
    UPSTREAM_LOG,
    WORKERS_LOG,
    listen_at,
    locked_folder,
    read_token,
    responds,
)
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.platforms import count_stores, platform_settings
from storecrawl.demo.processes import ChildOptions, ChildProcess
from storecrawl.demo.state import KEEP_SECONDS, FolderState, load_state, save_state
from storecrawl.egress.repository import ensure_direct
from storecrawl.platforms.dutchie import Dutchie
from storecrawl.platforms.registry import PLATFORMS
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

T = TypeVar("T")
Note = Callable[[str], None]

APP = "storecrawl.app:app"
# The lease in seconds, after which a killed worker's tasks are released.
LEASE = 10.0
# Settings of the shell for other workers must not restrict ours.
OWN_WORKERS = {
    prefix + name: ""
    for name in ("ROLES", "WORKER_ROLE", "WORKER_ID", "POLL_INTERVAL_MS", "HEARTBEAT_INTERVAL_MS")
    for prefix in ("ROLECALL_", "")
}
# Rolecall's usual port, if it is free.
API_PORT = 8321
AT_WILL = 10_000.0
# It usually starts within two seconds. The crawl waits no longer than this.
ANSWER_SECONDS = 20.0
PAUSE_SECONDS = 0.1


class Stage:
    """All parts of a demo; entering starts everything, leaving stops everything.

    `note` receives short progress messages, `show_address` the dashboard's address as soon as it responds; the
    address logs its user in. Entering raises ConfigError for an unusable folder, EmbeddedServerError and
    OperationalError for an unreachable database.
    """

    def __init__(self, options: DemoOptions, *, note: Note, show_address: Note) -> None:
        self._options = options
        self._note = note
        self._show_address = show_address
        self._folder = options.data_dir.absolute()
        self._stack = ExitStack()
        self._database = Database(self._folder, options.database)
        self._state: FolderState | None = None
        self._saved_at = 0.0
        self._upstream: list[ChildProcess] = []
        self._attached_children: list[ChildProcess] = []
        self._attached_dsn = ""
        self._listener: socket.socket | None = None

    @property
    def api(self) -> str | None:
        """The address of dashboard and API; None if they are not served."""
        return "http://{}:{}".format(*self._listener.getsockname()) if self._listener else None

    @property
    def app(self) -> App:
        return build_app(self._settings())

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(locked_folder(self._folder))
            if self._options.upstream is None:
                self._start_upstream()
            self._note("starting Postgres" if self._options.database is None else "connecting to the database")
            self._stack.enter_context(self._database)
            self._database.query(self._forget_schedules)
            self._database.query(self._ensure_route)
            self._start_attached()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note("stopping; running tasks may finish")
        self._stack.close()

    @property
    def world(self) -> FolderState | None:
        return self._state

    @property
    def expected_stores(self) -> int | None:
        """The number of stores to find on all platforms; None with another upstream."""
        return count_stores(self._options.platforms, self._state) if self._state else None

    def query(self, operation: Callable[[Connection], T]) -> T | None:
        return self._database.query(operation)

    def keep_running(self) -> None:
        """Restart stopped processes, and store the simulated time."""
        self._database.keep_reachable()
        if self._attached_dsn != self._database.dsn:
            self._move_attached()
        for child in (*self._upstream, *self._attached_children):
            child.keep_running()
        if time.time() - self._saved_at > KEEP_SECONDS:
            self._save_state()

    def _start_upstream(self) -> None:
        self._note("starting the upstream")
        self._state = load_state(self._folder, self._options, time.time())
        self._stack.callback(self._save_state)
        flags = {**self._state.flags(), "--failure-rate": self._options.failure_rate}
        upstream = self._child(["-m", "storecrawl.demo.upstream", *_flat(flags)], {}, UPSTREAM_LOG)
        self._upstream.append(upstream)
        self._stack.callback(upstream.stop)
        upstream.keep_running()

    def _start_attached(self) -> None:
        self._attached_dsn = self._database.dsn
        self._stack.callback(self._stop_attached)
        if self._options.api:
            self._start_dashboard()
        self._note("starting the workers")
        work = ["worker", *_flat({"--app": APP, "--slots": self._options.slots})]
        self._attached_children += [self._database_child(work, WORKERS_LOG) for _ in range(self._options.processes)]
        for child in self._attached_children:
            child.keep_running()

    def _start_dashboard(self) -> None:
        """Start the dashboard before the workers, so that it shows their work from the beginning."""
        self._note("starting the dashboard")
        self._listener = self._stack.enter_context(listen_at(API_PORT))
        server = self._server(self._listener.fileno())
        self._attached_children.append(server)
        address, until = str(self.api), time.monotonic() + ANSWER_SECONDS
        server.keep_running()
        while time.monotonic() < until and not responds(address):
            time.sleep(PAUSE_SECONDS)
            server.keep_running()
        token = read_token(self._folder)
        self._show_address(f"{address}/enter?token={token}" if token else f"{address}/")

    def _server(self, descriptor: int) -> ChildProcess:
        """Return the server's process, which serves a socket of the demo that stays open when it restarts."""
        serve = ["serve", *_flat({"--app": APP, "--fd": descriptor})]
        return self._database_child(serve, API_LOG, nice=True, descriptors=[descriptor])

    def _database_child(self, command: list[str], log: str, **how: Unpack[ChildOptions]) -> ChildProcess:
        # Each is attached to the embedded server, and the last one to leave stops it.
        where = ["--data-dir", str(self._folder)] if self._options.database is None else []
        environment = {
            **OWN_WORKERS,
            **self._settings().to_environment(),
            "DATABASE_URL": self._options.database or "",
            "ROLECALL_TOKEN_FILE": str(self._folder / API_TOKEN),
        }
        return self._child(["-m", "rolecall", *command, *where], environment, log, **how)

    def _move_attached(self) -> None:
        """Restart the processes that are connected to a database whose address has changed."""
        for child in self._attached_children:
            child.kill()
        self._attached_dsn = self._database.dsn

    def _stop_attached(self) -> None:
        for child in self._attached_children:
            child.request_stop()
        for child in self._attached_children:
            child.stop()

    def _settings(self) -> CrawlSettings:
        options = self._options
        settings = CrawlSettings(
            platforms={Dutchie.spec.name: PlatformSettings(upstream=options.upstream)} if options.upstream else {},
            data_dir=self._folder,
            lease=LEASE,
            schedules=not options.once,
        )
        if self._state is None:
            return settings
        return replace(
            settings,
            platforms=platform_settings(options.platforms, f"http://{LOOPBACK}:{self._state.port}", self._state),
            fetch_every=options.step_seconds,
            discover_every=4 * options.step_seconds,
            analyse_every=options.step_seconds,
            derive_pause=1.0,
            # A local upstream needs no rate limits.
            page_pause=0.001,
            backoff=0.05,
            retry_first=0.5,
            host_rate=AT_WILL,
            store_rate=AT_WILL,
            longest_retry_after=0.05,
            breaker_seconds=1.0,
            # Its 403 responses are random, so they are no reason to pause a route.
            forbidden_limit=0,
        )

    def _forget_schedules(self, connection: Connection) -> None:
        """Remove the last demo's schedules: this one's workers add theirs, if any."""
        every_platform = {name: PlatformSettings(upstream=f"http://{LOOPBACK}") for name in PLATFORMS}
        for name in build_app(CrawlSettings(platforms=every_platform)).schedules:
            connection.execute("select rolecall.delete_schedule(%s::text)", (name,))

    def _ensure_route(self, connection: Connection) -> None:
        """Add the direct route: always for our own upstream, for another one only if there is no route."""
        if self._state is not None or not connection.execute("select 1 from storecrawl.routes limit 1").fetchone():
            ensure_direct(connection)

    def _child(
        self, command: list[str], environment: Mapping[str, str], log: str, **how: Unpack[ChildOptions]
    ) -> ChildProcess:
        return ChildProcess(command, environment=environment, log=self._folder / log, **how)

    def _save_state(self) -> None:
        now = time.time()
        if self._state is not None:
            save_state(self._folder, self._state.at(now))
        self._saved_at = now


def _flat(flags: Mapping[str, object]) -> list[str]:
    return [part for name, value in flags.items() for part in (name, str(value))]
