"""Readings before and after each part of a crawl cycle: CPU, WAL, tables, files, statements."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import psycopg
from psycopg.rows import class_row
from storecrawl.statements import Statements

from bench.crawl_sampler import read_samples
from bench.crawl_world import World
from bench.processes import cpu_of_server, cpu_of_sessions

A_BLOCK = 512
WAL = "select (pg_current_wal_insert_lsn() - '0/0')::bigint, wal_fpi from pg_stat_wal"
TABLES = """
select
    schemaname || '.' || coalesce(partition.parent, stat.relname) as name,
    sum(pg_table_size(stat.relid))::bigint as heap,
    sum(pg_indexes_size(stat.relid))::bigint as indexes,
    sum(n_tup_ins)::bigint as inserted,
    sum(n_tup_upd)::bigint as updated,
    sum(n_tup_hot_upd)::bigint as updated_hot,
    sum(n_tup_del)::bigint as deleted
from pg_stat_user_tables as stat
left join lateral (
    select min(inhparent::regclass::text) as parent from pg_inherits where inhrelid = stat.relid
) as whole on true
left join lateral (select split_part(whole.parent, '.', 2) as parent) as partition on true
where schemaname in ('storecrawl', 'rolecall')
group by 1
"""
STATEMENTS = """
select query, calls, total_exec_time / 1000 as seconds, rows, wal_bytes::bigint as wal
from pg_stat_statements
where dbid = (select oid from pg_database where datname = current_database())
"""
HANDLERS = """
select handler as name, count(*) as tasks, count(*) filter (where state <> 'completed') as not_completed,
    percentile_disc(0.5) within group (order by extract(epoch from finished_at - started_at))::float8 as p50,
    percentile_disc(0.95) within group (order by extract(epoch from finished_at - started_at))::float8 as p95,
    coalesce(sum(extract(epoch from finished_at - started_at)), 0)::float8 as seconds
from rolecall.all_tasks
where finished_at > %s
group by handler
order by seconds desc
"""
COMMENT = re.compile(r"--[^\n]*")
ENGINE_CALL = re.compile(r"\brolecall\.\w+")
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with its partitions: bytes, and rows written since the server started."""

    name: str
    heap: int
    indexes: int
    inserted: int
    updated: int
    updated_hot: int
    deleted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The cost of one statement on the server; seconds are wall time, including waits for locks and disk."""

    name: str
    calls: int
    seconds: float
    rows: int
    wal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """Wall times of one handler's tasks from start to end; the median is None if none ran."""

    name: str
    tasks: int
    not_completed: int
    p50: float | None
    p95: float | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reading: CPU seconds by kind of process, WAL bytes and full-page images, bytes of files on disk."""

    at: float
    cpu: Mapping[str, float]
    wal: int
    full_pages: int
    database: int
    files: int
    products: int
    tables: Mapping[str, Table]
    samples: Mapping[str, float]


def take_reading(world: World) -> Reading:
    """Take all readings now."""
    with world.server.connect(world.server.dsn) as connection:
        wal, full_pages = _row(connection, WAL)
        return Reading(
            at=time.monotonic(),
            cpu={
                "workers": cpu_of_sessions(set(world.workers)),
                "Postgres": cpu_of_server(world.server.postmaster),
                "upstream": cpu_of_sessions({world.upstream}),
            },
            wal=int(wal),
            full_pages=int(full_pages),
            database=int(_row(connection, "select pg_database_size(current_database()), 0")[0]),
            files=sum(path.stat().st_blocks * A_BLOCK for path in world.payloads.rglob("*.zst")),
            products=int(_row(connection, "select coalesce(sum(applied_count), 0), 0 from storecrawl.payloads")[0]),
            tables=read_tables(connection),
            samples=read_samples(world.samples),
        )


def read_tables(connection: psycopg.Connection[Any]) -> dict[str, Table]:
    """Read every table by name."""
    rows = connection.cursor(row_factory=class_row(Table)).execute(TABLES).fetchall()
    return {table.name: table for table in rows}


def forget_statements(connection: psycopg.Connection[Any]) -> None:
    """Reset the statement statistics."""
    connection.execute("select pg_stat_statements_reset()")


def read_statements(connection: psycopg.Connection[Any]) -> list[Statement]:
    """Return the cost of each statement since the last reset, the most expensive first."""
    names = dict(_known_statements())
    rows = connection.cursor().execute(STATEMENTS).fetchall()
    found = (
        Statement(name=_name_of(query, names), calls=calls, seconds=seconds, rows=number, wal=wal)
        for query, calls, seconds, number, wal in rows
    )
    return sorted(found, key=lambda statement: -statement.seconds)


def read_handlers(connection: psycopg.Connection[Any], since: object) -> list[Handler]:
    """Return the durations of tasks that finished since a time of the database's clock."""
    return connection.cursor(row_factory=class_row(Handler)).execute(HANDLERS, [since]).fetchall()


def _row(connection: psycopg.Connection[Any], query: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = connection.execute(query.encode()).fetchone()
    if row is None:
        raise LookupError("select returned no row")
    return row


def _known_statements() -> Iterator[tuple[str, str]]:
    """Return the crawler's statements by their text up to the first parameter."""
    for package in ("storecrawl.catalog.sql", "storecrawl.egress.sql"):
        for file in resources.files(package).iterdir():
            if file.name.endswith(".sql"):
                statements = Statements.of(package, file.name.removesuffix(".sql"))
                for name in statements:
                    beginning = re.split(r"%\(|'|\b\d", _plain(statements.texts[name].decode()), maxsplit=1)[0]
                    yield beginning, name


def _plain(text: str) -> str:
    return " ".join(COMMENT.sub(" ", text).split())


def _name_of(query: str, names: Mapping[str, str]) -> str:
    text = _plain(query)
    known = max((beginning for beginning in names if text.startswith(beginning)), key=len, default=None)
    if known:
        return names[known]
    call = ENGINE_CALL.search(text)
    return call[0] if call else text[:LONGEST_NAME]
