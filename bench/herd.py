"""Measures many workers on one role: their cost while idle, how many one enqueue wakes, how fast they drain.

    python bench/herd.py --workers 8,200

Real workers with one slot, always spread over four processes, each with its own connections and maintenance duties.
`idle` is Postgres's activity while there is nothing to do, by statement; `claims an enqueue` is the number of
claims by all workers for one single task. Both drains run tasks that do nothing: one claimed at a time, and with
the default prefetch. On few cores, the rates depend on the cores: compare 200 with 8 workers of the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median

import psycopg
from psycopg.types.json import Jsonb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.crawl_world import SERVER  # noqa: E402 - this file is run as a script
from bench.processes import cpu_of_server  # noqa: E402
from bench.progress import say, tell  # noqa: E402
from bench.server import Server, throw_away_server  # noqa: E402
from bench.transports import A_SECOND, SETTLING_SECONDS, ask, process, until  # noqa: E402
from rolecall import App, Worker, WorkerOptions, migrate  # noqa: E402

Connection = psycopg.Connection[tuple[str, str]]

PROCESSES = 4
# The maximum per worker, and a reserve for this script and the server itself.
CONNECTIONS_A_WORKER, CONNECTIONS_BESIDE = 6, 50
IDLE_SECONDS = 30.0
SINGLE, LATER = 50, 3
# Until unnecessarily woken workers wait for their next poll again.
RESTED = 3.0
# So that each of 200 workers takes a few hundred of them, or a few.
BATCH, FEW, ROUNDS = 40_000, 4_000, 3
ONE_AT_A_TIME = 0
STATEMENTS = """
    select coalesce(
            substring(query from 'from rolecall\\.(\\w+)'), substring(query from 'rolecall\\.(\\w+)'), left(query, 40)
        ), sum(calls)::int, sum(total_exec_time), sum(shared_blks_hit + shared_blks_read)::int
    from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
    group by 1 order by 2 desc
"""
ENQUEUED_LATER = "select rolecall.enqueue('work', p_handler => 'nothing', p_scheduled_for => now() + interval '8 s')"
ENQUEUED = "select cardinality(ids) from rolecall.enqueue_many(%s)"
DRAINED = """
    select extract(epoch from max(finished_at) - min(started_at))::float8
    from (select * from rolecall.finished_tasks order by id desc limit %s) as latest
"""

app = App("herd")


@app.task(role="work")
async def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Postgres's activity per second: its share of a core, transactions, and calls with milliseconds by statement."""

    cpu: float
    transactions: float
    statements: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """One round: tasks per second, microseconds of Postgres's CPU time per task, tasks and pages read per claim."""

    rate: float
    cpu: float
    tasks: float
    pages: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Herd:
    """The results for one number of workers, for each round of the drains."""

    workers: int
    connections: int
    idle: Idle
    claims: float
    claims_later: float
    single_ms: float
    one_at_a_time: list[Drain]
    as_they_come: list[Drain]


def main() -> None:
    if sys.argv[1:2] == ["crew"]:
        asyncio.run(crew(int(sys.argv[2]), int(sys.argv[3])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="8,100,200", help="the numbers to measure, in this order")
    parser.add_argument("--idle", action="store_true", help="measure only their cost while idle")
    asked = parser.parse_args()
    numbers = [int(number) for number in asked.workers.split(",")]
    room = max(numbers) * CONNECTIONS_A_WORKER + CONNECTIONS_BESIDE
    with throw_away_server(replace(SERVER, max_connections=room)) as server:
        found = [measure(server, number, idle_only=asked.idle) for number in numbers]
        tell("herd", server.settings(), [asdict(each) for each in found], (HEAD, [row(each) for each in found]))


def measure(server: Server, workers: int, *, idle_only: bool) -> Herd:
    """Start this many workers over an empty database, twice, and measure."""
    with working(server, workers, WorkerOptions().prefetch) as connection:
        time.sleep(SETTLING_SECONDS)
        idle = watched(server, connection)
        say(f"{workers} idle workers: {idle.cpu:.2%} of a core, {idle.transactions:.1f} transactions/s")
        for name, (calls, milliseconds) in idle.statements.items():
            say(f"  {calls:6.2f}/s {milliseconds:7.3f} ms/s  {name}")
        connections = ask(connection, "select count(*) from pg_stat_activity where datname = current_database()") - 1
        claims, single_ms = (0.0, 0.0) if idle_only else one_by_one(server, connection)
        claims_later = 0.0 if idle_only else one_later(connection)
        as_they_come = [] if idle_only else drains(server, connection, BATCH)
    one_at_a_time: list[Drain] = []
    if not idle_only:
        with working(server, workers, ONE_AT_A_TIME) as connection:
            one_at_a_time = drains(server, connection, FEW)
    return Herd(
        workers=workers,
        connections=connections,
        idle=idle,
        claims=claims,
        claims_later=claims_later,
        single_ms=single_ms,
        one_at_a_time=one_at_a_time,
        as_they_come=as_they_come,
    )


@contextmanager
def working(server: Server, workers: int, prefetch: int) -> Iterator[Connection]:
    """Run this many registered workers over an empty pool during the block."""
    server.empty()
    with server.connect(server.dsn) as connection, ExitStack() as stack:
        migrate(connection)
        connection.execute("select rolecall.make_partitions()")
        connection.execute("create extension pg_stat_statements")
        for number in range(PROCESSES):
            here = len(range(number, workers, PROCESSES))
            stack.enter_context(process(__file__, "crew", str(here), str(prefetch), DATABASE_URL=server.dsn))
        until(connection, "select count(*) from rolecall.workers where stopped_at is null", workers)
        until(connection, "select count(distinct worker_id) from rolecall.idle_marks", workers)
        yield connection


async def crew(number: int, prefetch: int) -> None:
    """Run this many workers in this process until SIGTERM."""
    options = WorkerOptions(slots=1, prefetch=prefetch)
    workers = [Worker(app, os.environ["DATABASE_URL"], options) for _ in range(number)]

    def stop() -> None:
        for worker in workers:
            worker.stop()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    await asyncio.gather(*(worker.run() for worker in workers))


def watched(server: Server, connection: Connection) -> Idle:
    """Measure Postgres's activity while there is nothing to do."""
    transactions = "select sum(xact_commit + xact_rollback)::int from pg_stat_database"
    before, cpu = ask(connection, transactions), cpu_of_server(server.postmaster)
    connection.execute("select pg_stat_statements_reset()")
    time.sleep(IDLE_SECONDS)
    cpu = cpu_of_server(server.postmaster) - cpu
    return Idle(
        cpu=cpu / IDLE_SECONDS,
        transactions=(ask(connection, transactions) - before) / IDLE_SECONDS,
        statements={
            name: (calls / IDLE_SECONDS, milliseconds / IDLE_SECONDS)
            for name, calls, milliseconds, _ in statements(connection)
        },
    )


def one_by_one(server: Server, connection: Connection) -> tuple[float, float]:
    """Enqueue tasks one at a time; return claims and milliseconds of Postgres's CPU time per task."""
    connection.execute("select pg_stat_statements_reset()")
    cpu = cpu_of_server(server.postmaster)
    for _ in range(SINGLE):
        connection.execute("select rolecall.enqueue('work', p_handler => 'nothing')")
        time.sleep(1 / A_SECOND)
    until(connection, "select count(*) from rolecall.finished_tasks", SINGLE)
    cpu = cpu_of_server(server.postmaster) - cpu
    claims = sum(calls for name, calls, _, _ in statements(connection) if name == "claim")
    return claims / SINGLE, cpu / SINGLE * 1000


def one_later(connection: Connection) -> float:
    """Enqueue a task that is due after every worker's next poll, several times; return claims per task."""
    time.sleep(RESTED)
    connection.execute("select pg_stat_statements_reset()")
    for number in range(LATER):
        connection.execute(ENQUEUED_LATER)
        until(connection, "select count(*) from rolecall.finished_tasks", SINGLE + number + 1)
        time.sleep(RESTED)
    return sum(calls for name, calls, _, _ in statements(connection) if name == "claim") / LATER


def drains(server: Server, connection: Connection, batch: int) -> list[Drain]:
    """Enqueue many tasks at once, several times; in the first round the sessions plan their statements."""
    return [drain(server, connection, batch) for _ in range(ROUNDS + 1)][1:]


def drain(server: Server, connection: Connection, batch: int) -> Drain:
    """Enqueue many tasks at once; the rate is from the first start to the last finish."""
    done = ask(connection, "select count(*) from rolecall.finished_tasks")
    connection.execute(ENQUEUED, [Jsonb([{"handler": "nothing"}] * batch)])
    cpu = cpu_of_server(server.postmaster)
    connection.execute("select pg_stat_statements_reset()")
    until(connection, "select count(*) from rolecall.finished_tasks", done + batch)
    cpu = cpu_of_server(server.postmaster) - cpu
    [row] = connection.execute(DRAINED, [batch]).fetchall()
    [(calls, pages)] = [(called, pages) for name, called, _, pages in statements(connection) if name == "claim"]
    return Drain(rate=batch / float(row[0]), cpu=cpu / batch * 1e6, tasks=batch / calls, pages=pages / calls)


def statements(connection: Connection) -> Iterable[tuple[str, int, float, int]]:
    """Return each statement with its calls, milliseconds and pages since the last reset."""
    for row in connection.execute(STATEMENTS.encode()).fetchall():
        name, calls, milliseconds, pages = map(str, row)
        yield name, int(calls), float(milliseconds), int(pages)


def span(figures: Sequence[float]) -> str:
    """Format the median with the minimum and maximum."""
    return f"{median(figures):,.0f} ({min(figures):,.0f}-{max(figures):,.0f})" if figures else ""


def columns_of(title: str, drains_of: Callable[[Herd], Sequence[Drain]]) -> Iterator[tuple[str, Callable[[Herd], str]]]:
    """Return the column names for one kind of drain."""
    yield f"{title}: tasks/s", lambda each: span([one.rate for one in drains_of(each)])
    yield "Postgres' us a task", lambda each: span([one.cpu for one in drains_of(each)])
    yield "tasks a claim", lambda each: span([one.tasks for one in drains_of(each)])
    yield "pages a claim", lambda each: span([one.pages for one in drains_of(each)])


COLUMNS: Sequence[tuple[str, Callable[[Herd], str]]] = (
    ("workers", lambda each: str(each.workers)),
    ("connections", lambda each: str(each.connections)),
    ("idle: % of a core", lambda each: f"{each.idle.cpu * 100:.2f}"),
    ("idle: transactions/s", lambda each: f"{each.idle.transactions:.1f}"),
    ("claims an enqueue", lambda each: f"{each.claims:.2f}"),
    ("claims a task for later", lambda each: f"{each.claims_later:.1f}"),
    ("Postgres' ms an enqueue", lambda each: f"{each.single_ms:.2f}"),
    *columns_of("as they come", lambda each: each.as_they_come),
    *columns_of("one at a time", lambda each: each.one_at_a_time),
)
HEAD = tuple(name for name, _ in COLUMNS)


def row(each: Herd) -> list[str]:
    return [show(each) for _, show in COLUMNS]


if __name__ == "__main__":
    main()
