"""Applies migrations: forward only, safe under concurrent migrators, each step in one transaction.

    numbered files, in order        one transaction each, recorded with a checksum in the same one
    functions, all of them          in the transaction of the last file, or alone when only they changed

Every transaction takes one advisory lock first and then looks again, so eight migrators do the work of one.
"""

from __future__ import annotations

from itertools import starmap
from typing import Any

import psycopg

from rolecall.db.migrations import (
    FUNCTIONS_VERSION,
    ROLECALL,
    Applied,
    Migration,
    Migrations,
    judge,
    refuse_newer,
    require_current,
)
from rolecall.db.run import run, run_async, translated
from rolecall.sql.statement import Statement, single

__all__ = ["ROLECALL", "Migrations", "check", "check_async", "migrate", "pending", "sql_text"]

# A snapshot from before the wait would not show what the migrator before us did.
LOCK = """\
set transaction isolation level read committed;
select pg_advisory_xact_lock(7246925, 1);
"""
REGISTER = """\
create schema if not exists rolecall;
create table if not exists rolecall.schema_migrations (
    package text not null,
    version int not null,
    name text not null,
    checksum text not null,
    breaking boolean not null default true,
    applied_at timestamptz not null default clock_timestamp(),
    primary key (package, version)
);
"""
# Functions may name each other in any order; a busy table must not hang a deploy and all that queue behind.
SETTINGS = """\
set local check_function_bodies = off;
set local lock_timeout = '10s';
"""
RECORD = """\
insert into rolecall.schema_migrations (package, version, name, checksum, breaking)
values ({package}, {version}, {name}, {checksum}, {breaking})
on conflict (package, version) do update
set checksum = excluded.checksum, applied_at = excluded.applied_at;
"""

Connection = psycopg.Connection[Any]


def migrate(conn: Connection, migrations: Migrations = ROLECALL) -> list[str]:
    """Bring the database to this release's schema; return the labels of the steps that this call applied.

    Commits step by step: the connection must not be in a transaction; writes nothing when nothing is pending.
    Raises SchemaTooNew for a database of a newer release, SchemaDrift where an applied file was edited.
    """
    done: list[str] = []
    with translated():
        while pending(conn, migrations):
            done += _apply_next(conn, migrations)
    return done


def pending(conn: Connection, migrations: Migrations = ROLECALL) -> list[str]:
    """Return the labels of the steps that migrate would apply now."""
    return [step.label for step in _pending_steps(migrations, _applied(conn, migrations))]


def check(conn: Connection, migrations: Migrations = ROLECALL) -> None:
    """Raise SchemaMissing, SchemaTooNew or SchemaDrift unless this release can run on the database."""
    require_current(migrations, _applied(conn, migrations))


async def check_async(conn: psycopg.AsyncConnection[Any], migrations: Migrations = ROLECALL) -> None:
    """Raise SchemaMissing, SchemaTooNew or SchemaDrift unless this release can run on the database."""
    exists = await run_async(conn, REGISTER_EXISTS)
    applied = await run_async(conn, _read_register(migrations)) if exists else []
    require_current(migrations, applied)


def sql_text(migrations: Migrations = ROLECALL) -> str:
    """Return everything as one script, for people who let nobody but psql near their database."""
    parts = ["begin;\n", LOCK, SETTINGS, REGISTER]
    for step in migrations.steps():
        parts += [f"\n-- {migrations.name}: {step.label}\n", step.sql, "\n", _record(migrations, step)]
    return "".join([*parts, "commit;\n"])


def _apply_next(conn: Connection, migrations: Migrations) -> list[str]:
    with conn.transaction():
        _execute(conn, LOCK + SETTINGS + REGISTER)
        batch = _next_batch(migrations, _pending_steps(migrations, _applied(conn, migrations)))
        for step in batch:
            _execute(conn, step.sql)
            _execute(conn, _record(migrations, step))
    return [step.label for step in batch]


def _pending_steps(migrations: Migrations, applied: list[Applied]) -> list[Migration]:
    refuse_newer(migrations, applied, even_compatible=True)
    return judge(migrations, applied)


def _next_batch(migrations: Migrations, steps: list[Migration]) -> list[Migration]:
    numbered = [step for step in steps if step.version != FUNCTIONS_VERSION]
    if len(numbered) > 1:
        return numbered[:1]
    functions = migrations.all_functions() if steps else None
    return [*numbered, *([functions] if functions else [])]


def _applied(conn: Connection, migrations: Migrations) -> list[Applied]:
    with conn.transaction():
        return run(conn, _read_register(migrations)) if run(conn, REGISTER_EXISTS) else []


REGISTER_EXISTS: Statement[bool] = Statement(
    query="select to_regclass('rolecall.schema_migrations') is not null", read=single
)


def _read_register(migrations: Migrations) -> Statement[list[Applied]]:
    return Statement(
        query="select version, checksum, breaking from rolecall.schema_migrations where package = %s",
        params=(migrations.name,),
        read=lambda rows: list(starmap(Applied, rows)),
    )


def _record(migrations: Migrations, step: Migration) -> str:
    return RECORD.format(
        package=_quoted(migrations.name),
        version=step.version,
        name=_quoted(step.name),
        checksum=_quoted(step.checksum),
        breaking=str(step.breaking).lower(),
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _execute(conn: Connection, script: str) -> None:
    # A ClientCursor sends the text as it is, so that one call may hold many statements.
    with psycopg.ClientCursor(conn) as cursor:
        cursor.execute(script.encode())
