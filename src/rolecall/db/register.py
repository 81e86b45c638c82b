"""The register of applied migrations: the steps of each package, and the checksum of each file of functions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from typing import Any

import psycopg

from rolecall.db.migrations import FUNCTIONS_VERSION, AppliedMigration, Migration, Release, State
from rolecall.db.run import run
from rolecall.sql.statement import Statement, single

Connection = psycopg.Connection[Any]
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
create table if not exists rolecall.schema_files (
    package text not null,
    file text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp(),
    primary key (package, file)
);
"""
RECORD = """\
insert into rolecall.schema_migrations (package, version, name, checksum, breaking)
values ({package}, {version}, {name}, {checksum}, {breaking})
on conflict (package, version) do update
set checksum = excluded.checksum, applied_at = excluded.applied_at;
"""
RECORD_FILES = """\
delete from rolecall.schema_files where package = {package} and file not in ({files});
insert into rolecall.schema_files (package, file, checksum) values
{rows}
on conflict (package, file) do update
set checksum = excluded.checksum, applied_at = excluded.applied_at
where schema_files.checksum <> excluded.checksum;
"""
OBJECTS: Statement[frozenset[str]] = Statement(
    query=(
        "select pronamespace::regnamespace || '.' || proname from pg_proc"
        " where pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
        " union select relnamespace::regnamespace || '.' || relname from pg_class where relkind = 'v'"
        " and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
    ),
    read=lambda rows: frozenset(name for (name,) in rows),
)


def read_state(conn: Connection, release: Release) -> State:
    with conn.transaction():
        has_register = run(conn, exists("rolecall.schema_migrations"))
        return State(
            applied=run(conn, read_register(release.package)) if has_register else [],
            files=run(conn, _read_files(release.package)) if run(conn, exists("rolecall.schema_files")) else {},
            objects=run(conn, OBJECTS) if release.files else frozenset(),
        )


def exists(relation: str) -> Statement[bool]:
    return Statement(query="select to_regclass(%s) is not null", params=(relation,), read=single)


def read_register(package: str) -> Statement[list[AppliedMigration]]:
    return Statement(
        query="select version, checksum, breaking from rolecall.schema_migrations where package = %s",
        params=(package,),
        read=lambda rows: list(starmap(AppliedMigration, rows)),
    )


def _read_files(package: str) -> Statement[Mapping[str, str]]:
    return Statement(
        query="select file, checksum from rolecall.schema_files where package = %s",
        params=(package,),
        read=lambda rows: {str(file): str(checksum) for file, checksum in rows},
    )


def record(release: Release, step: Migration) -> str:
    recorded = RECORD.format(
        package=_quote(release.package),
        version=step.version,
        name=_quote(step.name),
        checksum=_quote(step.checksum),
        breaking=str(step.breaking).lower(),
    )
    if step.version != FUNCTIONS_VERSION:
        return recorded
    return recorded + _record_files(release)


def _record_files(release: Release) -> str:
    package = _quote(release.package)
    rows = [(_quote(file.name), _quote(file.checksum)) for file in release.files]
    return RECORD_FILES.format(
        package=package,
        files=", ".join(file for file, _ in rows),
        rows=",\n".join(f"    ({package}, {file}, {checksum})" for file, checksum in rows),
    )


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
