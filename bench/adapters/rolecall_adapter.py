"""Rolecall in the adapter protocol: ordinary async handlers, one call a task, through the public API alone.

Runs in this project's bench and in any harness that speaks the protocol; there its entry is

    [ours]
    python = "$BENCH_OURS_PYTHON"     the .venv's interpreter of this work tree
    script = "$BENCH_OURS_SCRIPT"     this file
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.processes import Stopwatch
from bench.protocol import Adapter, Place, Sent, main, paced
from rolecall.app import App
from rolecall.client import Client
from rolecall.db.connect import connect
from rolecall.db.migrator import migrate
from rolecall.db.run import run as execute
from rolecall.model.outcomes import Completed
from rolecall.model.tasks import NextTasks
from rolecall.sql import retention, tasks
from rolecall.worker import Worker, WorkerOptions
from rolecall.worker.loop import run

SLOTS = int(os.environ.get("BENCH_SLOTS", "10"))
CHUNK = 20_000
CHILDREN = 10_000
NOBODY = 0


class RolecallAdapter(Adapter):
    """Enqueues with `enqueue_many`, 20,000 a call; works with default prefetch."""

    name = "rolecall"
    packages = ("rolecall", "psycopg", "msgspec", "uvloop")
    settings = MappingProxyType({"slots": SLOTS, "enqueue": f"Client.enqueue_many, {CHUNK} a call"})

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._app = App("bench")
        tick, stamp = self.tally.tick, self.tally.stamp

        @self._app.task
        async def noop(i: int) -> None:  # noqa: ARG001 - every peer's no-op carries a payload
            tick()

        @self._app.task
        async def parent() -> None: ...

        @self._app.task
        async def lat(i: int) -> None:
            stamp(i)

        self._noop = noop
        self._lat = lat
        self._parent = parent

    def setup(self) -> None:
        """Migrate, and make the days' partitions, which the first worker of a new database would do at its start."""
        with connect(self.dsn, "bench") as connection:
            migrate(connection)
            execute(connection, retention.make_partitions())

    def enqueue(self, number: int, watch: Stopwatch) -> None:
        with self._client() as client, watch:
            for first in range(0, number, CHUNK):
                client.enqueue_many(self._noop.task(i=i) for i in range(first, min(first + CHUNK, number)))

    def enqueue_single(self, number: int, watch: Stopwatch) -> None:
        with self._client() as client, watch:
            for i in range(number):
                client.enqueue(self._noop, {"i": i})

    def enqueue_children(self, number: int, watch: Stopwatch) -> None:
        """Let parents spawn and wait: what a worker would store for them at the end of their step."""
        with self._client() as client, connect(self.dsn, "bench") as connection, watch:
            for first in range(0, number, CHILDREN):
                client.enqueue(self._parent, {})
                (parent,) = execute(connection, tasks.claim(NOBODY, (), ("parent",), 1))
                children = [self._noop.task(i=i) for i in range(first, min(first + CHILDREN, number))]
                report = Completed(id=parent.id, fence=parent.fence, next_tasks=NextTasks(children=children))
                execute(connection, tasks.finish(NOBODY, [report]))

    def send(self, numbers: Sequence[int], interval: float) -> list[Sent]:
        with self._client() as client:
            return [self._send_one(client, number) for number in paced(numbers, interval)]

    def work(self) -> None:
        run(Worker(self._app, self.dsn, WorkerOptions(slots=SLOTS)).run())

    @contextmanager
    def pending(self) -> Iterator[Callable[[], int]]:
        with connect(self.dsn, "bench") as connection:
            yield lambda: _value(connection, b"select count(*) from rolecall.tasks")

    def _send_one(self, client: Client, number: int) -> Sent:
        before = time.time_ns()
        client.enqueue(self._lat, {"i": number})
        return Sent(number, before, time.time_ns())

    @contextmanager
    def _client(self) -> Iterator[Client]:
        """A client that has connected and declared the app: what only its first call would pay for."""
        with Client(self.dsn, app=self._app) as client:
            client.enqueue_many([])
            yield client


def _value(connection: psycopg.Connection[tuple[Any, ...]], query: bytes) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


if __name__ == "__main__":
    main(RolecallAdapter, __file__)
