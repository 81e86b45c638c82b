"""Everything that a demo runs on: its folder, database, local upstream, workers and dashboard."""

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
    answers,
    held,
    listen_at,
    read_token,
)
from storecrawl.demo.memory import KEEP_SECONDS, Memory, keep, recall
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.processes import ChildOptions, ChildProcess
from storecrawl.egress.repository import ensure_direct
from storecrawl.settings import CrawlSettings

T = TypeVar("T")
Note = Callable[[str], None]

APP = "storecrawl.app:app"
# A killed worker's tasks come back after so many seconds.
LEASE = 10.0
# What a shell has set for workers of its own must not keep ours from any task.
OWN_WORKERS = {
    prefix + name: ""
    for name in ("ROLES", "WORKER_ROLE", "WORKER_ID", "POLL_INTERVAL_MS", "HEARTBEAT_INTERVAL_MS")
    for prefix in ("ROLECALL_", "")
}
# Rolecall's usual one, while it is free.
API_PORT = 8321
AT_WILL = 10_000.0
# It starts within a second or two; should it take longer than this, the crawl does not wait for it.
ANSWER_SECONDS = 20.0
PAUSE_SECONDS = 0.1


class Stage:
    """The demo's world; entering it starts everything, leaving it stops everything.

    `note` is told in a few words what is just being done, `tell` where the dashboard is, as soon as it answers: an
    address that lets in who opens it.
    Entering raises ConfigError for a folder that cannot be used, EmbeddedServerError and OperationalError for a
    database that cannot be reached.
    """

    def __init__(self, options: DemoOptions, *, note: Note, tell: Note) -> None:
        self._options = options
        self._note = note
        self._tell = tell
        self._folder = options.data_dir.absolute()
        self._stack = ExitStack()
        self._database = Database(self._folder, options.database)
        self._memory: Memory | None = None
        self._kept_at = 0.0
        self._upstream: list[ChildProcess] = []
        self._attached: list[ChildProcess] = []
        self._attached_dsn = ""
        self._listener: socket.socket | None = None

    @property
    def api(self) -> str | None:
        """Where the dashboard and the API are served; None where they are not."""
        return "http://{}:{}".format(*self._listener.getsockname()) if self._listener else None

    @property
    def app(self) -> App:
        """The app that the workers run, with the same settings."""
        return build_app(self._settings())

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(held(self._folder))
            if self._options.upstream is None:
                self._start_upstream()
            self._note("starting Postgres" if self._options.database is None else "reaching the database")
            self._stack.enter_context(self._database)
            self._database.ask(self._forget_schedules)
            self._database.ask(self._ensure_route)
            self._start_attached()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note("stopping; what has begun may end")
        self._stack.close()

    @property
    def world(self) -> Memory | None:
        """The world of the local upstream; None where the upstream is not ours."""
        return self._memory

    @property
    def expected_stores(self) -> int | None:
        """How many stores there must be to find; None where the upstream is not ours."""
        return self._memory.stores if self._memory else None

    def ask(self, question: Callable[[Connection], T]) -> T | None:
        """Return the database's answer, or None while it is away."""
        return self._database.ask(question)

    def keep_running(self) -> None:
        """Restart what has died, and remember how far simulated time has come."""
        self._database.keep_reachable()
        if self._attached_dsn != self._database.dsn:
            self._move_attached()
        for child in (*self._upstream, *self._attached):
            child.keep_running()
        if time.time() - self._kept_at > KEEP_SECONDS:
            self._keep_memory()

    def _start_upstream(self) -> None:
        self._note("starting the upstream")
        self._memory = recall(self._folder, self._options, time.time())
        self._stack.callback(self._keep_memory)
        flags = {**self._memory.flags(), "--failure-rate": self._options.failure_rate}
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
        self._attached += [self._on_database(work, WORKERS_LOG) for _ in range(self._options.processes)]
        for child in self._attached:
            child.keep_running()

    def _start_dashboard(self) -> None:
        """Before the workers: what they do is to be seen from its beginning."""
        self._note("starting the dashboard")
        self._listener = self._stack.enter_context(listen_at(API_PORT))
        server = self._server(self._listener.fileno())
        self._attached.append(server)
        address, until = str(self.api), time.monotonic() + ANSWER_SECONDS
        server.keep_running()
        while time.monotonic() < until and not answers(address):
            time.sleep(PAUSE_SECONDS)
            server.keep_running()
        token = read_token(self._folder)
        self._tell(f"{address}/enter?token={token}" if token else f"{address}/")

    def _server(self, descriptor: int) -> ChildProcess:
        """What serves the dashboard and the API at a socket of the demo's own, which outlives it when it dies."""
        serve = ["serve", *_flat({"--app": APP, "--fd": descriptor})]
        return self._on_database(serve, API_LOG, nice=True, descriptors=[descriptor])

    def _on_database(self, command: list[str], log: str, **how: Unpack[ChildOptions]) -> ChildProcess:
        """A command of Rolecall's that works on the demo's database, with the demo's settings."""
        # Attached to the embedded server each for itself: the last to leave, however it leaves, stops it.
        where = ["--data-dir", str(self._folder)] if self._options.database is None else []
        environment = {
            **OWN_WORKERS,
            **self._settings().to_environment(),
            "DATABASE_URL": self._options.database or "",
            "ROLECALL_TOKEN_FILE": str(self._folder / API_TOKEN),
        }
        return self._child(["-m", "rolecall", *command, *where], environment, log, **how)

    def _move_attached(self) -> None:
        """Have them start anew: the database has come back at another address, and they are cut off for good."""
        for child in self._attached:
            child.kill()
        self._attached_dsn = self._database.dsn

    def _stop_attached(self) -> None:
        for child in self._attached:
            child.ask_to_stop()
        for child in self._attached:
            child.stop()

    def _settings(self) -> CrawlSettings:
        options = self._options
        given = CrawlSettings(
            upstream=options.upstream or "", data_dir=self._folder, lease=LEASE, schedules=not options.once
        )
        if self._memory is None:
            return given
        return replace(
            given,
            upstream=f"http://{LOOPBACK}:{self._memory.port}",
            fetch_every=options.step_seconds,
            discover_every=4 * options.step_seconds,
            analyse_every=options.step_seconds,
            derive_pause=1.0,
            images=True,
            image_networks=(f"{LOOPBACK}/32",),
            # It needs no politeness.
            page_pause=0.001,
            backoff=0.05,
            retry_first=0.5,
            host_rate=AT_WILL,
            store_rate=AT_WILL,
            longest_retry_after=0.05,
            breaker_seconds=1.0,
            # Its answers 403 are drawn by lot: they mean nobody.
            forbidden_limit=0,
        )

    def _forget_schedules(self, connection: Connection) -> None:
        """Remove the last demo's schedules: this one's workers add theirs, with its own times, or none."""
        for schedule in build_app(CrawlSettings()).schedules.values():
            for name in (schedule.name, schedule.formerly):
                connection.execute("select rolecall.delete_schedule(%s::text)", (name,))

    def _ensure_route(self, connection: Connection) -> None:
        """Let requests leave directly: to our own upstream always, to another where nobody has said by which route."""
        if self._memory is not None or not connection.execute("select 1 from storecrawl.routes limit 1").fetchone():
            ensure_direct(connection)

    def _child(
        self, command: list[str], environment: Mapping[str, str], log: str, **how: Unpack[ChildOptions]
    ) -> ChildProcess:
        return ChildProcess(command, environment=environment, log=self._folder / log, **how)

    def _keep_memory(self) -> None:
        now = time.time()
        if self._memory is not None:
            keep(self._folder, self._memory.at(now))
        self._kept_at = now


def _flat(flags: Mapping[str, object]) -> list[str]:
    return [part for name, value in flags.items() for part in (name, str(value))]
