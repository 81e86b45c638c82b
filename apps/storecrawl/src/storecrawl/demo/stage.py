"""Everything that a demo runs on: database, schema, local upstream, worker processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
from rolecall import EmbeddedServer, Migrations, migrate

from storecrawl.demo.figures import Figures, read_figures
from storecrawl.demo.memory import LOOPBACK, Memory
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.processes import ChildProcess
from storecrawl.schema import MIGRATIONS
from storecrawl.settings import CrawlSettings

# The local upstream needs no politeness.
LOCAL = {"page_pause": 0.001, "backoff": 0.05, "retry_first": 0.5}
APP = "storecrawl.app:app"


class Stage:
    """The demo's world; entering it starts everything, leaving it stops everything in the reverse order."""

    def __init__(self, options: DemoOptions) -> None:
        self._options = options
        self._folder = options.data_dir.absolute()
        self._stack = ExitStack()
        self._server = EmbeddedServer(self._folder)
        self._children: list[ChildProcess] = []
        self._connection: psycopg.Connection[Any] | None = None

    def __enter__(self) -> Self:
        with self._stack:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._stack.enter_context(self._server)
            _bring_up_to_date(self.dsn, MIGRATIONS)
            if self._options.upstream is None:
                self._start(_upstream_command(self._options, Memory.of(self._folder)), {}, "upstream")
            self._start(_crew_command(self._options, self._folder), self._settings().to_environment(), "workers")
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def dsn(self) -> str:
        """How to reach the database."""
        return self._server.dsn()

    def connect(self) -> psycopg.Connection[Any]:
        """Return the stage's own connection, opened anew after the database had died."""
        if self._connection is None or self._connection.closed:
            self._server.attach()
            self._connection = self._stack.enter_context(psycopg.connect(self.dsn, autocommit=True))
        return self._connection

    def figures(self) -> Figures | None:
        """Read the figures; None while the database is away."""
        try:
            return read_figures(self.connect())
        except psycopg.OperationalError:
            return None

    def keep_running(self) -> None:
        """Restart what has died."""
        for child in self._children:
            child.keep_running()

    def _start(self, command: list[str], environment: dict[str, str], name: str) -> None:
        child = ChildProcess(command, environment=environment, log=self._folder / f"{name}.log")
        self._children.append(self._stack.enter_context(child))

    def _settings(self) -> CrawlSettings:
        options = self._options
        if options.upstream is not None:
            return CrawlSettings(upstream=options.upstream, data_dir=self._folder, schedules=not options.once)
        return CrawlSettings(
            upstream=f"http://{LOOPBACK}:{Memory.of(self._folder).port}",
            data_dir=self._folder,
            fetch_every=options.step_seconds,
            discover_every=4 * options.step_seconds,
            analyse_every=options.step_seconds,
            schedules=not options.once,
            **LOCAL,
        )


def _bring_up_to_date(dsn: str, migrations: Migrations) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        migrate(connection)
        migrate(connection, migrations)


def _upstream_command(options: DemoOptions, memory: Memory) -> list[str]:
    flags = {
        "--port": memory.port,
        "--epoch": memory.epoch,
        "--stores": options.stores,
        "--seed": options.seed,
        "--failure-rate": options.failure_rate,
        "--step-seconds": 0 if options.once else options.step_seconds,
        "--parent": os.getpid(),
    }
    return ["-m", "storecrawl.demo.upstream", *_flat(flags)]


def _crew_command(options: DemoOptions, folder: Path) -> list[str]:
    flags = {"--app": APP, "--data-dir": folder, "--processes": options.processes, "--slots": options.slots}
    return ["-m", "rolecall", "worker", *_flat(flags)]


def _flat(flags: Mapping[str, object]) -> list[str]:
    return [part for name, value in flags.items() for part in (name, str(value))]
