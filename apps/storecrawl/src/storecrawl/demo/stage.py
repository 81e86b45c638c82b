"""Everything that a demo runs on: its folder, database, local upstream and workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

from rolecall import App
from storecrawl.app import build_app
from storecrawl.demo.database import Connection, Database
from storecrawl.demo.folder import UPSTREAM_LOG, WORKERS_LOG, held
from storecrawl.demo.memory import KEEP_SECONDS, LOOPBACK, Memory, keep, recall
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.processes import ChildProcess
from storecrawl.settings import CrawlSettings

T = TypeVar("T")
Note = Callable[[str], None]

APP = "storecrawl.app:app"
# A killed worker's tasks come back after so many seconds.
LEASE = 10.0
# What a shell has set for workers of its own must not keep ours from any task.
OWN_WORKERS = {"WORKER_ROLE": "", "WORKER_ID": "", "POLL_INTERVAL_MS": "", "HEARTBEAT_INTERVAL_MS": ""}


class Stage:
    """The demo's world; entering it starts everything, leaving it stops everything.

    `note` is told in a few words what is just being done. Entering raises ConfigError for a folder that cannot be used,
    EmbeddedServerError and OperationalError for a database that cannot be reached.
    """

    def __init__(self, options: DemoOptions, note: Note) -> None:
        self._options = options
        self._note = note
        self._folder = options.data_dir.absolute()
        self._stack = ExitStack()
        self._database = Database(self._folder, options.database)
        self._memory: Memory | None = None
        self._kept_at = 0.0
        self._upstream: list[ChildProcess] = []
        self._workers: list[ChildProcess] = []
        self._workers_dsn = ""

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
            self._note("starting the workers")
            self._start_workers()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note("stopping; what has begun may end")
        self._stack.close()

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
        if self._workers_dsn != self._database.dsn:
            self._move_workers()
        for child in (*self._upstream, *self._workers):
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

    def _start_workers(self) -> None:
        self._workers_dsn = self._database.dsn
        command = ["-m", "rolecall", "worker", *_flat({"--app": APP, "--slots": self._options.slots})]
        if self._options.database is None:
            # Attached to the embedded server each for itself: the last to leave, however it leaves, stops it.
            command += ["--data-dir", str(self._folder)]
        environment = {
            **OWN_WORKERS,
            **self._settings().to_environment(),
            "DATABASE_URL": self._options.database or "",
        }
        self._workers += [self._child(command, environment, WORKERS_LOG) for _ in range(self._options.processes)]
        self._stack.callback(self._stop_workers)
        for worker in self._workers:
            worker.keep_running()

    def _move_workers(self) -> None:
        """Have the workers start anew: the database has come back at another address, and they are cut off for good."""
        for worker in self._workers:
            worker.kill()
        self._workers_dsn = self._database.dsn

    def _stop_workers(self) -> None:
        for worker in self._workers:
            worker.ask_to_stop()
        for worker in self._workers:
            worker.stop()

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
            # It needs no politeness.
            page_pause=0.001,
            backoff=0.05,
            retry_first=0.5,
        )

    def _forget_schedules(self, connection: Connection) -> None:
        """Remove the last demo's schedules: this one's workers add theirs, with its own times, or none."""
        for name in build_app(CrawlSettings()).schedules:
            connection.execute("select rolecall.delete_schedule(%s::text)", (name,))

    def _child(self, command: list[str], environment: Mapping[str, str], log: str) -> ChildProcess:
        return ChildProcess(command, environment=environment, log=self._folder / log)

    def _keep_memory(self) -> None:
        now = time.time()
        if self._memory is not None:
            keep(self._folder, self._memory.at(now))
        self._kept_at = now


def _flat(flags: Mapping[str, object]) -> list[str]:
    return [part for name, value in flags.items() for part in (name, str(value))]
