"""Measures how workers are notified: the cost for Postgres, how soon a task starts, how fast many are done.

    python bench/transports.py --workers 10,100 --kinds postgres,poll,redis,nats

Real workers with one slot, many per process, because few have that many machines: compare figures of one run only.
`idle` is Postgres's activity while there is nothing to do; `wait` is the time from enqueue to start of single tasks,
by the database's clock; `rate` is for tasks that do nothing, enqueued at once. Wall times of a hundred workers on
a few cores depend on the cores; Postgres's CPU time per task is more stable.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.processes import cpu_of_server  # noqa: E402 - this file is run as a script
from bench.server import OPTIONS, Server, throw_away_server  # noqa: E402
from rolecall import App, Worker, WorkerOptions, migrate  # noqa: E402
from rolecall.config import read_settings  # noqa: E402
from tests import brokers  # noqa: E402

# Notifications by each transport, after which workers claim; and the hand-off, with which they need not.
KINDS = ("poll", "postgres", "redis", "nats", "streams", "lists")
HANDOFFS = ("streams", "lists")
A_PROCESS = 50
# The maximum per worker, with a margin, and a reserve for this script.
CONNECTIONS_A_WORKER, CONNECTIONS_BESIDE = 6, 50
# Until workers that found nothing have reached their longest poll interval.
SETTLING_SECONDS = 25.0
IDLE_SECONDS = 10.0
SINGLE, A_SECOND = 60, 10.0
BATCH = 2_000
PATIENCE = 120.0
STOP_SECONDS = 30.0

app = App("transports")


@app.task(role="work")
async def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The results of one kind with one number of workers; times in milliseconds."""

    kind: str
    workers: int
    connections: int
    idle_cpu: float
    idle_transactions: float
    wait_median: float
    wait_most: float
    rate: float
    cpu_a_task: float


def main() -> None:
    if sys.argv[1:2] == ["crew"]:
        asyncio.run(crew(int(sys.argv[2])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="10,100", help="the numbers to measure, in this order")
    parser.add_argument("--kinds", default=",".join(KINDS))
    asked = parser.parse_args()
    numbers = [int(number) for number in asked.workers.split(",")]
    room = max(numbers) * CONNECTIONS_A_WORKER + CONNECTIONS_BESIDE
    with throw_away_server(replace(OPTIONS, max_connections=room)) as server:
        found = [measure(server, kind, number) for number in numbers for kind in asked.kinds.split(",")]
    show(found)


def measure(server: Server, kind: str, workers: int) -> Measured:
    """Start this many workers over an empty database, and measure."""
    server.empty()
    with server.connect(server.dsn) as connection, ExitStack() as stack:
        migrate(connection)
        connection.execute("select rolecall.make_partitions()")
        settings = {"DATABASE_URL": server.dsn, **stack.enter_context(carried(kind))}
        if kind in {"redis", "nats"}:
            stack.enter_context(process("-m", "rolecall.cli", "relay", **settings))
        if kind in HANDOFFS:
            stack.enter_context(process("-m", "rolecall.cli", "dispatch", **settings))
        for first in range(0, workers, A_PROCESS):
            number = str(min(A_PROCESS, workers - first))
            stack.enter_context(process(__file__, "crew", number, **settings))
        until(connection, "select count(*) from rolecall.workers where stopped_at is null", workers)
        time.sleep(SETTLING_SECONDS)
        idle = watched(server, connection)
        one_by_one(connection)
        return Measured(
            kind=kind,
            workers=workers,
            connections=ask(connection, "select count(*) from pg_stat_activity where datname = current_database()") - 1,
            idle_cpu=idle[0],
            idle_transactions=idle[1],
            wait_median=waited(connection, 0.5),
            wait_most=waited(connection, 0.95),
            **at_once(server, connection),
        )


@contextmanager
def carried(kind: str) -> Iterator[dict[str, str]]:
    """Run the broker of a transport during the block, and yield the variables that select it."""
    if kind in {"poll", "postgres"}:
        yield {"ROLECALL_NOTIFICATIONS": kind}
        return
    with (brokers.nats if kind == "nats" else brokers.redis)() as broker:
        if kind in HANDOFFS:
            yield {"ROLECALL_REDIS_URL": broker.url, "ROLECALL_HANDOFF": kind}
        else:
            yield {"ROLECALL_NOTIFICATIONS": broker.url}


@contextmanager
def process(*words: str, **settings: str) -> Iterator[None]:
    """Run a separate Python process during the block."""
    running = subprocess.Popen(
        [sys.executable, *words], env={**os.environ, **settings}, cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


async def crew(number: int) -> None:
    """Run this many workers in this process until SIGTERM."""
    settings = read_settings()
    options = WorkerOptions(slots=1, prefetch=0, notifications=settings.notifications, handoff=settings.handoff)
    # One worker runs the maintenance duties for all: tasks of a claim whose response was lost must be rescued.
    workers = [
        Worker(app, os.environ["DATABASE_URL"], replace(options, maintenance=each == 0)) for each in range(number)
    ]

    def stop() -> None:
        for worker in workers:
            worker.stop()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    await asyncio.gather(*(worker.run() for worker in workers))


def watched(server: Server, connection: psycopg.Connection[tuple[str, str]]) -> tuple[float, float]:
    """Measure Postgres's share of a core and its transactions per second while there is nothing to do."""
    transactions = "select sum(xact_commit + xact_rollback)::int from pg_stat_database"
    before, cpu = ask(connection, transactions), cpu_of_server(server.postmaster)
    time.sleep(IDLE_SECONDS)
    cpu = cpu_of_server(server.postmaster) - cpu
    return cpu / IDLE_SECONDS, (ask(connection, transactions) - before) / IDLE_SECONDS


def one_by_one(connection: psycopg.Connection[tuple[str, str]]) -> None:
    for _ in range(SINGLE):
        connection.execute("select rolecall.enqueue('work', p_handler => 'nothing')")
        time.sleep(1 / A_SECOND)
    until(connection, "select count(*) from rolecall.finished_tasks", SINGLE)


def waited(connection: psycopg.Connection[tuple[str, str]], share: float) -> float:
    """Return a percentile of the single tasks' waits from enqueue to start, in milliseconds."""
    query = """
    select percentile_cont(%s) within group (order by extract(epoch from started_at - created_at) * 1000)::float8
    from rolecall.finished_tasks
    """
    [row] = connection.execute(query, [share]).fetchall()
    return float(row[0])


def at_once(server: Server, connection: psycopg.Connection[tuple[str, str]]) -> dict[str, float]:
    """Enqueue many tasks at once; return tasks per second, and milliseconds of Postgres's CPU time per task."""
    many = Jsonb([{"handler": "nothing"}] * BATCH)
    server.checkpoint()
    cpu, began = cpu_of_server(server.postmaster), time.perf_counter()
    connection.execute("select cardinality(ids) from rolecall.enqueue_many(%s)", [many])
    until(connection, "select count(*) from rolecall.finished_tasks", SINGLE + BATCH)
    seconds = time.perf_counter() - began
    return {"rate": BATCH / seconds, "cpu_a_task": (cpu_of_server(server.postmaster) - cpu) / BATCH * 1000}


def until(connection: psycopg.Connection[tuple[str, str]], query: str, wanted: int) -> None:
    """Wait until a query returns this count."""
    deadline = time.monotonic() + PATIENCE
    while (found := ask(connection, query)) < wanted:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{found} of {wanted}: {query}")
        time.sleep(0.1)


def ask(connection: psycopg.Connection[tuple[str, str]], query: str) -> int:
    [row] = connection.execute(query.encode()).fetchall()
    return int(row[0])


COLUMNS: Sequence[tuple[str, Callable[[Measured], str]]] = (
    ("workers", lambda each: str(each.workers)),
    ("by", lambda each: each.kind),
    ("connections", lambda each: str(each.connections)),
    ("idle: % of a core", lambda each: f"{each.idle_cpu * 100:.1f}"),
    ("idle: transactions/s", lambda each: f"{each.idle_transactions:.0f}"),
    ("wait: median ms", lambda each: f"{each.wait_median:.1f}"),
    ("wait: 95 % ms", lambda each: f"{each.wait_most:.1f}"),
    ("rate: tasks/s", lambda each: f"{each.rate:.0f}"),
    ("Postgres CPU ms/task", lambda each: f"{each.cpu_a_task:.2f}"),
)


def show(found: Sequence[Measured]) -> None:
    table = Table(*(name for name, _ in COLUMNS))
    for each in found:
        table.add_row(*(tell(each) for _, tell in COLUMNS))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
