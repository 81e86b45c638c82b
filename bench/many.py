"""Measures what ten thousand workers behind PgBouncer cost Postgres: idle and working.

    python bench/many.py --workers 10000 --share 0.2

All workers are registered as idle. Clients behind a pooler in transaction mode send the statements of these
workers, each in the name of another worker: for idle workers at a fraction of their real rate, from which the
total is extrapolated; for working ones as fast as possible, alternating between a claim of a few tasks and their
finish. `quiet` workers are configured to receive no notifications (`ROLECALL_POOLED=yes`,
`ROLECALL_NOTIFICATIONS=poll`) and poll every 5 s; `deaf` ones have only detected that notifications do not
arrive, and poll every second.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.herd import app  # noqa: E402 - this file is run as a script
from bench.processes import cpu_of_server  # noqa: E402
from bench.progress import say, tell  # noqa: E402
from bench.server import OPTIONS, Server, throw_away_server  # noqa: E402
from bench.transports import ask  # noqa: E402
from rolecall import migrate  # noqa: E402
from rolecall.db.connect import connect_async  # noqa: E402
from rolecall.db.pooler import AsyncConnection  # noqa: E402
from rolecall.db.run import run, run_async  # noqa: E402
from rolecall.maintenance.duties import DUTIES  # noqa: E402
from rolecall.maintenance.runner import LONGEST_REST  # noqa: E402
from rolecall.model.outcomes import Completed  # noqa: E402
from rolecall.model.workers import Condition  # noqa: E402
from rolecall.sql import claims, duties, roles, workers  # noqa: E402
from rolecall.sql.statement import Statement  # noqa: E402
from rolecall.transport.waker import DEAF_INTERVAL, PaceOptions  # noqa: E402
from rolecall.worker.options import WorkerOptions  # noqa: E402
from rolecall.worker.wiring import LOOK_EVERY  # noqa: E402
from tests.servers import bouncing  # noqa: E402

Connection = psycopg.Connection[tuple[str, str]]

CLIENTS, BEHIND = 50, 20
REST_SECONDS = 30.0
TASKS, A_CLAIM = 20_000, 10
ENROLLED = """
    select count(rolecall.register_worker('worker-' || n, '{work}', '{nothing}', 1, 'host-' || n %% 200, n, 'bench'))
    from generate_series(1, %s) as n
"""
# As long as a fleet's first heartbeats would take.
MARKED = "select count(beat.known) from rolecall.workers as one cross join rolecall.beat(one.id, 0, true) as beat"
NAMES = tuple(duty.name for duty in DUTIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measurement: Postgres's CPU seconds and bytes of WAL, and the work that was done meanwhile."""

    title: str
    share: float
    seconds: float
    cpu: float
    wal: int
    statements: int
    tasks: int


class Fleet:
    """The ids of all registered workers; each statement is sent for another one."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = ids
        self._turns = count()

    def next(self) -> int:
        return self._ids[next(self._turns) % len(self._ids)]

    def poll(self) -> Statement[Any]:
        return claims.next_due(("work",), ("nothing",), self.next())

    def look(self) -> Statement[Any]:
        return duties.read_status(NAMES, f"worker-{self.next()}")

    def beat(self) -> Statement[Any]:
        return workers.heartbeat(self.next(), 0, Condition(cpu=0.01, memory=0.1, clock=time.time()), idle=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--share", type=float, default=0.2, help="fraction of the statements of idle workers to send")
    asked = parser.parse_args()
    with throw_away_server(replace(OPTIONS, max_connections=BEHIND + 30)) as server:
        ids = enrolled(server, asked.workers)
        with bouncing(server.dsn, size=BEHIND) as bouncer:
            found = asyncio.run(measured(server, bouncer.through(server.dsn), Fleet(ids), asked.workers, asked.share))
        at_rest, at_work = found[:-1], found[-1]
        head = {**server.settings(), "workers": asked.workers, "clients": CLIENTS, "connections": BEHIND}
        tables = [(REST, [rest_row(each) for each in at_rest]), (WORK, [work_row(at_work)])]
        tell("many", head, [asdict(each) for each in found], *tables)


def enrolled(server: Server, number: int) -> list[int]:
    """Register this many workers in an empty pool, all marked idle."""
    server.empty()
    with server.connect(server.dsn) as connection:
        migrate(connection)
        connection.execute("select rolecall.make_partitions()")
        run(connection, roles.declare(*app.declaration()))
        connection.execute(ENROLLED.encode(), [number])
        connection.execute(MARKED.encode())
        connection.execute("vacuum analyze")
        ids = [int(row[0]) for row in connection.execute("select id from rolecall.workers order by random()")]
    say(f"{len(ids)} workers are registered")
    return ids


async def measured(server: Server, pooled: str, fleet: Fleet, number: int, share: float) -> list[Measurement]:
    """Measure quiet and deaf idle workers, and working ones."""
    connections = [await connect_async(pooled, "many") for _ in range(CLIENTS)]
    try:
        found = []
        for title, poll_every in (("quiet", PaceOptions().poll_interval), ("deaf", DEAF_INTERVAL)):
            wanted = at_rest(fleet, number, poll_every)
            # The same rate for both kinds: workers that poll five times as often are measured at a smaller fraction.
            sent = share * sum(at_rest(fleet, number, PaceOptions().poll_interval).values()) / sum(wanted.values())
            found.append(await resting(server, connections, wanted, title, sent))
        found.append(await working(server, connections, fleet))
    finally:
        for connection in connections:
            await connection.close()
    return found


def at_rest(fleet: Fleet, number: int, poll_every: float) -> dict[Callable[[], Statement[Any]], float]:
    """Return the statements that this many idle workers send, with their rates per second."""
    return {
        fleet.poll: number / poll_every,
        fleet.look: number / LONGEST_REST,
        fleet.beat: number / WorkerOptions().heartbeat_interval,
        roles.known_procedures: number / LOOK_EVERY,
    }


async def resting(
    server: Server,
    connections: Sequence[AsyncConnection],
    wanted: Mapping[Callable[[], Statement[Any]], float],
    title: str,
    share: float,
) -> Measurement:
    """Send a fraction of what idle workers send."""
    sent = Counter[str]()
    pause = len(connections) / (share * sum(wanted.values()))
    end = time.monotonic() + REST_SECONDS

    async def idle(connection: AsyncConnection) -> None:
        # Paced by the clock, not by the responses: slow responses must not reduce the load.
        due = time.monotonic() + random.uniform(0, pause)
        while due < end:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            [make] = random.choices(list(wanted), list(wanted.values()))
            await run_async(connection, make())
            sent[make.__name__] += 1
            due += pause

    with server.connect(server.dsn) as own:
        began, cpu, wal = time.monotonic(), cpu_of_server(server.postmaster), written(own)
        await asyncio.gather(*map(idle, connections))
        figures = Measurement(
            title=title,
            share=share,
            seconds=time.monotonic() - began,
            cpu=cpu_of_server(server.postmaster) - cpu,
            wal=written(own) - wal,
            statements=sent.total(),
            tasks=0,
        )
    say(
        f"{title}: {figures.statements / figures.seconds:,.0f} statements/s cost "
        f"{figures.cpu / figures.seconds:.1%} of a core"
    )
    return figures


async def working(server: Server, connections: Sequence[AsyncConnection], fleet: Fleet) -> Measurement:
    """Claim and finish a few tasks at a time, in the name of one worker after the other, until all are done."""
    calls = done = 0

    async def work(connection: AsyncConnection) -> None:
        nonlocal calls, done
        while True:
            worker_id = fleet.next()
            taken, _ = await run_async(
                connection, claims.claim_what_fits(worker_id, ("work",), ("nothing",), A_CLAIM, A_CLAIM)
            )
            if not taken:
                return
            reports = [Completed(id=task.id, fence=task.fence, result_json="null") for task in taken]
            refused = await run_async(connection, claims.finish_free(worker_id, reports))
            calls, done = calls + 2, done + len(taken) - len(refused)

    with server.connect(server.dsn) as own:
        own.execute("select cardinality(ids) from rolecall.enqueue_many(%s)", [filled()])
        server.analyze()
        began, cpu, wal = time.monotonic(), cpu_of_server(server.postmaster), written(own)
        await asyncio.gather(*map(work, connections))
        figures = Measurement(
            title="at work",
            share=1.0,
            seconds=time.monotonic() - began,
            cpu=cpu_of_server(server.postmaster) - cpu,
            wal=written(own) - wal,
            statements=calls,
            tasks=done,
        )
    say(f"{figures.tasks:,} tasks, {figures.cpu / figures.tasks * 1e6:.0f} us of Postgres' time each")
    return figures


def filled() -> Jsonb:
    return Jsonb([{"role": "work", "handler": "nothing"}] * TASKS)


def written(connection: Connection) -> int:
    return ask(connection, "select pg_current_wal_insert_lsn() - '0/0'")


REST = (
    "at rest",
    "share sent",
    "statements/s",
    "% of a core",
    "us a statement",
    "all of them: statements/s",
    "cores",
    "kB of WAL/s",
)
WORK = ("at work", "tasks/s", "claims and finishes/s", "Postgres' us a task", "us a claim or finish", "WAL a task")


def rest_row(figures: Measurement) -> list[str]:
    rate = figures.statements / figures.seconds
    return [
        figures.title,
        f"{figures.share:.3f}",
        f"{rate:,.0f}",
        f"{figures.cpu / figures.seconds * 100:.0f}",
        f"{figures.cpu / figures.statements * 1e6:.0f}",
        f"{rate / figures.share:,.0f}",
        f"{figures.cpu / figures.seconds / figures.share:.2f}",
        f"{figures.wal / figures.seconds / figures.share / 1000:,.0f}",
    ]


def work_row(figures: Measurement) -> list[str]:
    return [
        f"{A_CLAIM} tasks a claim",
        f"{figures.tasks / figures.seconds:,.0f}",
        f"{figures.statements / figures.seconds:,.0f}",
        f"{figures.cpu / figures.tasks * 1e6:.0f}",
        f"{figures.cpu / figures.statements * 1e6:.0f}",
        f"{figures.wal / figures.tasks:,.0f} bytes",
    ]


if __name__ == "__main__":
    main()
