"""The server's own limits: bare SQL on psycopg connections, without a queue's bookkeeping, fences or keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import psycopg

from bench.processes import Stopwatch, wait_for_calm
from bench.record import Record, Sizes
from bench.server import Server

Connection = psycopg.Connection[Any]
Fill = Callable[[Connection, int], None]

COPY = "COPY"
UNNEST = "INSERT .. unnest"
SINGLE = "INSERT, one commit each"
SINGLE_MANY = "the same, 16 connections"
MOVE = "claim, delete + history, k={}"
MOVE_ARRAY = "the same, = any(array(..)), k={}"
MOVE_TWICE = "the same, 2 connections, k={}"
MOVE_HELD = "the same, held snapshot, k={}"
STEPS = (100, 500, 1000)
STEP = 500
PRELOAD_STEP = 1000
CALLERS = 16

TABLES = """
drop table if exists task, history;
create table task (
    id bigint generated always as identity primary key,
    queue text not null default 'default',
    name text not null,
    args jsonb not null default '{}',
    state smallint not null default 0,
    priority smallint not null default 0,
    attempt smallint not null default 0,
    run_at timestamptz not null default now(),
    created_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    worker int
);
create index task_ready on task (queue, priority, id) where state = 0;
create index task_running on task (worker) where state = 1;
create table history (like task including defaults);
alter table history add primary key (id);
"""
CLAIM = """
update task set state = 1, started_at = now(), attempt = attempt + 1, worker = 7
where id in (select id from task where state = 0 and queue = 'default'
             order by priority, id limit %s for update skip locked)
returning id, name, args, attempt
"""
# Half the cost: this form cannot be planned as a join over the whole table.
CLAIM_ARRAY = CLAIM.replace("id in (", "id = any(array(").replace("locked)", "locked))")
FINISH = """
with done as (delete from task where id = any(%s) returning *)
insert into history (id, queue, name, args, state, priority, attempt, run_at, created_at,
                     started_at, finished_at, worker)
select id, queue, name, args, 2, priority, attempt, run_at, created_at, started_at, now(), worker from done
"""
INSERT = "insert into task (name, args) select * from unnest(%s::text[], %s::jsonb[]) returning id"
INSERT_ONE = "insert into task (name, args) values ('app.noop', %s) returning id"


class Ceilings:
    """Measures the ceilings one after the other, each on new tables."""

    def __init__(self, server: Server, sizes: Sizes) -> None:
        self._server = server
        self._sizes = sizes

    def measure(self) -> Iterator[Record]:
        """Yield a record for each ceiling."""
        self._server.empty()
        yield self._filling(COPY, copy)
        yield self._filling(UNNEST, insert)
        yield self._filling(SINGLE, insert_singly, self._sizes.singles)
        yield self._filling_by_many(SINGLE_MANY, self._sizes.singles)
        for step in STEPS:
            yield self._moving(MOVE.format(step), CLAIM, step)
        yield self._moving(MOVE_ARRAY.format(STEP), CLAIM_ARRAY, STEP)
        yield self._moving(MOVE_TWICE.format(STEP), CLAIM, STEP, connections=2)
        yield self._moving(MOVE_HELD.format(STEP), CLAIM, STEP, preload=self._sizes.preload)

    def _filling(self, work: str, fill: Fill, number: int | None = None) -> Record:
        number = number or self._sizes.tasks
        with self._tables() as connection, self._calm_watch() as watch:
            fill(connection, number)
        return _record(work, watch, number)

    def _filling_by_many(self, work: str, number: int) -> Record:
        with self._tables(), self._calm_watch() as watch:
            _at_once(CALLERS, partial(self._fill_alone, number // CALLERS))
        return _record(work, watch, number)

    def _fill_alone(self, number: int) -> None:
        with self._server.connect(self._server.dsn) as connection:
            insert_singly(connection, number)

    def _moving(  # sizes: the parameters that distinguish the drain ceilings
        self, work: str, claim: str, step: int, *, connections: int = 1, preload: int = 0
    ) -> Record:
        number = self._sizes.tasks
        with self._tables() as connection, self._server.held_snapshot() if preload else nullcontext():
            if preload:
                copy(connection, preload)
                connection.execute("analyze task")
                move(connection, claim, PRELOAD_STEP)
            copy(connection, number)
            if not preload:
                connection.execute("analyze task")
            connection.execute("checkpoint")
            with self._calm_watch() as watch:
                _at_once(connections, partial(self._move_alone, claim, step))
        return _record(work, watch, number)

    def _move_alone(self, claim: str, step: int) -> None:
        with self._server.connect(self._server.dsn) as connection:
            move(connection, claim, step)

    @contextmanager
    def _tables(self) -> Iterator[Connection]:
        with self._server.connect(self._server.dsn) as connection:
            connection.execute(TABLES.encode())
            connection.execute("checkpoint")
            yield connection

    def _calm_watch(self) -> Stopwatch:
        wait_for_calm(self._sizes.patience)
        return Stopwatch(self._server.postmaster)


def copy(connection: Connection, number: int) -> None:
    with connection.cursor() as cursor, cursor.copy("copy task (name, args) from stdin") as stream:
        stream.write("".join(f'app.noop\t{{"i": {i}}}\n' for i in range(number)))


def insert(connection: Connection, number: int) -> None:
    arguments = [f'{{"i": {i}}}' for i in range(number)]
    connection.execute(INSERT, (["app.noop"] * number, arguments)).fetchall()


def insert_singly(connection: Connection, number: int) -> None:
    for i in range(number):
        connection.execute(INSERT_ONE, (f'{{"i": {i}}}',), prepare=True)


def move(connection: Connection, claim: str, step: int) -> None:
    """Claim and finish until nothing is left, with a commit each."""
    while ids := [row[0] for row in connection.execute(claim.encode(), (step,), prepare=True)]:
        connection.execute(FINISH, (ids,), prepare=True)


def _at_once(number: int, call: Callable[[], None]) -> None:
    with ThreadPoolExecutor(number) as threads:
        for done in [threads.submit(call) for _ in range(number)]:
            done.result()


def _record(work: str, watch: Stopwatch, number: int) -> Record:
    return Record(
        peer="ceiling",
        work=work,
        rate=number / watch.seconds,
        worker_us=watch.own_cpu / number * 1e6,
        server_us=watch.server_cpu / number * 1e6,
    )
