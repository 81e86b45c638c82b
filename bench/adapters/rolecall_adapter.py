"""Adapter for Rolecall: ordinary async handlers, one call per task, through the public API only.

It also runs in any other harness that implements the protocol, with this entry:

    [ours]
    python = "$BENCH_OURS_PYTHON"     the .venv's interpreter of this work tree
    script = "$BENCH_OURS_SCRIPT"     this file

Variants are entries in peers.toml that set variables.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.adapters.rolecall_singles import Singles
from bench.asked import AT_ONCE, CHUNK, HANDLER_SECONDS, PAYLOAD_BYTES, TEXT
from bench.latency import Sent
from bench.processes import Stopwatch
from bench.protocol import Adapter, Place, main, paced
from rolecall.app import App
from rolecall.client.sync_client import Client
from rolecall.db.connect import connect
from rolecall.db.migrator import migrate
from rolecall.db.run import run as execute
from rolecall.model.outcomes import Completed
from rolecall.model.tasks import NewTask, NextTasks
from rolecall.sql import claims, retention
from rolecall.telemetry import EventSink
from rolecall.worker.loop import run
from rolecall.worker.options import WorkerOptions
from rolecall.worker.worker import Worker

SLOTS = AT_ONCE or int(os.environ.get("BENCH_SLOTS", "10"))
SINGLE = os.environ.get("BENCH_SINGLE", "plain")
SINK = os.environ.get("BENCH_SINK", "")
# Nine of ten tasks share this many keys, which each task has or the handler declares.
KEYS = int(os.environ.get("BENCH_KEYS", "0"))
DECLARED = bool(os.environ.get("BENCH_DECLARED"))
# Tasks of this many roles, which one worker serves.
ROLES = int(os.environ.get("BENCH_ROLES", "1"))
BATCH = int(os.environ.get("BENCH_BATCH", "0"))
VARIANT = {"single": SINGLE, "sink": SINK, "keys": KEYS, "declared": DECLARED, "roles": ROLES, "batch": BATCH}
CHILDREN = 10_000
NOBODY = 0
# CPU seconds that a handler spends before its tick: 0 unless telemetry is measured.
SPIN = float(os.environ.get("BENCH_SPIN", "0"))


@dataclass(frozen=True, slots=True)
class Item:
    """One task of a batch handler."""

    i: int


class RolecallAdapter(Adapter):
    """Enqueues with `enqueue_many`, 20,000 tasks per call, and works with the default prefetch."""

    name = "rolecall"
    packages = ("rolecall", "psycopg", "msgspec", "uvloop")
    settings = MappingProxyType({"slots": SLOTS, "enqueue": f"Client.enqueue_many, {CHUNK} a call"} | VARIANT)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._app = App("bench", sinks=_sinks(SINK))
        tick, stamp = self.tally.tick, self.tally.stamp

        @self._app.task
        async def parent() -> None: ...

        @self._app.task
        async def lat(i: int) -> None:
            stamp(i)

        @self._app.task(key="key {k}")
        async def keyed(i: int, k: int) -> None:  # noqa: ARG001 - every peer's no-op carries a payload
            tick()

        self._noops = [self._no_op(f"noop-{number}" if number else "noop") for number in range(ROLES)]
        self._keyed = keyed
        self._lat = lat
        self._parent = parent

    def setup(self) -> None:
        """Migrate, and create the daily partitions, which the first worker of a new database would otherwise create."""
        with connect(self.dsn, "bench") as connection:
            migrate(connection)
            execute(connection, retention.make_partitions())

    def enqueue(self, number: int, watch: Stopwatch) -> None:
        with self._client() as client, watch:
            for first in range(0, number, CHUNK):
                client.enqueue_many(map(self._task, range(first, min(first + CHUNK, number))))

    def enqueue_single(self, number: int, watch: Stopwatch) -> None:
        Singles(self.dsn, self._app, self._noops[0]).run(SINGLE, number, watch)

    def enqueue_children(self, number: int, watch: Stopwatch) -> None:
        """Let parents spawn children and wait, as a worker stores it at the end of their step."""
        with self._client() as client, connect(self.dsn, "bench") as connection, watch:
            for first in range(0, number, CHILDREN):
                client.enqueue(self._parent, {})
                (parent,) = execute(connection, claims.claim(NOBODY, (), ("parent",), 1))
                children = list(map(self._task, range(first, min(first + CHILDREN, number))))
                report = Completed(id=parent.id, fence=parent.fence, next_tasks=NextTasks(children=children))
                execute(connection, claims.finish(NOBODY, [report]))

    def send(self, numbers: Sequence[int], interval: float) -> list[Sent]:
        with self._client() as client:
            return [self._send_one(client, number) for number in paced(numbers, interval)]

    def work(self) -> None:
        run(Worker(self._app, self.dsn, WorkerOptions(slots=SLOTS)).run())

    @contextmanager
    def pending(self) -> Iterator[Callable[[], int]]:
        with connect(self.dsn, "bench") as connection:
            yield lambda: _value(connection, b"select count(*) from rolecall.tasks")

    def _no_op(self, name: str) -> Any:
        tick = self.tally.tick

        async def noop(i: int) -> None:  # noqa: ARG001 - every peer's no-op carries a payload
            if SPIN:
                _spin(SPIN)
            tick()

        async def batch(items: list[Item]) -> None:
            for _ in items:
                tick()

        async def shaped(i: int, text: str) -> None:  # noqa: ARG001 - the same
            tick()
            await asyncio.sleep(HANDLER_SECONDS)

        if BATCH:
            return self._app.task(name, batch=BATCH)(batch)
        return self._app.task(name)(shaped if HANDLER_SECONDS or PAYLOAD_BYTES else noop)

    def _task(self, i: int) -> NewTask:
        if KEYS and DECLARED and i % 10:
            return self._keyed.task(i=i, k=i % KEYS)
        more = {"text": TEXT} if HANDLER_SECONDS or PAYLOAD_BYTES else {}
        task: NewTask = self._noops[i % ROLES].task(i=i, **more)
        return task.options(key=f"key {i % KEYS}") if KEYS and i % 10 else task

    def _send_one(self, client: Client, number: int) -> Sent:
        before = time.time_ns()
        client.enqueue(self._lat, {"i": number})
        return Sent(number, before, time.time_ns())

    @contextmanager
    def _client(self) -> Iterator[Client]:
        with Client(self.dsn, app=self._app) as client:
            yield client.open()


def _value(connection: psycopg.Connection[tuple[Any, ...]], query: bytes) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def _spin(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def _sinks(name: str) -> Sequence[EventSink]:
    """Return the event sinks besides the log: Prometheus, or OpenTelemetry with an exporter that discards spans.

    `traces` is OpenTelemetry without its metrics; OTEL_TRACES_SAMPLER selects the spans. BENCH_SPIN sets the
    handlers' CPU time, to measure the overhead for handlers that do some work.
    """
    if name == "prometheus":
        from rolecall.telemetry.prometheus import Prometheus  # noqa: PLC0415 - only where it is measured

        return [Prometheus()]
    if name in {"opentelemetry", "traces"}:
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - only where it is measured
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415 - only where it is measured
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - only where it is measured

        from rolecall.telemetry.opentelemetry import OpenTelemetry  # noqa: PLC0415 - only where it is measured

        return [OpenTelemetry(TracerProvider(), MeterProvider([InMemoryMetricReader()]), measures=name != "traces")]
    return []


if __name__ == "__main__":
    main(RolecallAdapter, __file__)
