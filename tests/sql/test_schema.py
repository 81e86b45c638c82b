"""The declared schema, the first migration and the reference dump agree."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from rolecall.db.migrations import ROLECALL
from rolecall.testing import TestServer, clone, template
from tools.schema import (
    FIRST,
    REFERENCE,
    checksum,
    first_migration,
    frozen_checksums,
    generated_sources,
    reference,
)

SCHEMA = files("rolecall.sql") / "schema"
FUNCTIONS = "select proname from pg_proc where pronamespace = 'rolecall'::regnamespace"
VIEWS = "select relname from pg_class where relnamespace = 'rolecall'::regnamespace and relkind = 'v'"


@pytest.fixture
def empty_database(postgres_server: TestServer) -> Iterator[str]:
    with template(postgres_server, ()) as name, clone(postgres_server, name) as dsn:
        yield dsn


def test_migrations_create_the_declared_schema(
    connection: psycopg.Connection, database: str, empty_database: str
) -> None:
    declared = sorted(SCHEMA.iterdir(), key=lambda file: file.name)
    with psycopg.connect(empty_database, autocommit=True) as fresh:
        for file in declared:
            fresh.execute(file.read_bytes())
        assert tables(fresh) == tables(connection)


@pytest.mark.parametrize("folder", generated_sources(), ids=lambda folder: folder.name)
def test_first_migration_is_generated_from_the_schema(folder: Path) -> None:
    written = (folder / FIRST).read_text("utf-8")

    assert written == first_migration(folder), "run ./dev schema and commit 0001_schema.sql"


def test_frozen_migrations_do_not_change() -> None:
    frozen = frozen_checksums()

    assert {file: checksum(file) for file in frozen} == frozen, "a release has these: add a numbered migration"


def test_fresh_database_has_only_functions_that_files_create(connection: psycopg.Connection) -> None:
    created = {name.removeprefix("rolecall.") for file in ROLECALL.read().files for name in file.creates}
    existing = {name for (name,) in connection.execute(FUNCTIONS)}

    # `is_sound` belongs to the check of a table, so the schema creates it.
    assert existing - {"is_sound"} == created - {name for (name,) in connection.execute(VIEWS)}


def test_reference_dump_matches_the_schema_of_this_release(connection: psycopg.Connection, database: str) -> None:
    if connection.info.server_version < 180000:
        pytest.skip("the committed dump is of the embedded server, Postgres 18")

    assert reference(database) == REFERENCE.read_text("utf-8"), "run ./dev schema and commit docs/reference/schema.sql"


def tables(connection: psycopg.Connection) -> list[tuple[str, ...]]:
    """Return all columns, constraints, indexes and types of the catalog, except those of the migrator's tables."""
    return connection.execute(CATALOG).fetchall()


CATALOG = b"""
select 'column', attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull::text,
    coalesce(pg_get_expr(adbin, adrelid), ''), attcollation::regcollation::text
from pg_attribute join pg_class on pg_class.oid = attrelid
left join pg_attrdef on adrelid = attrelid and adnum = attnum
where relnamespace = 'rolecall'::regnamespace and relkind in ('r', 'p', 'c') and attnum > 0 and not attisdropped
    and relname !~ '_[0-9]{8}$' and relname !~ '^schema_(migrations|files)$'
union all
select 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(pg_constraint.oid), '', '', ''
from pg_constraint where connamespace = 'rolecall'::regnamespace
    and conrelid::regclass::text !~ '(_[0-9]{8}|schema_(migrations|files))$'
union all
select 'function', proname, prosrc, '', '', '', '' from pg_proc where oid = 'rolecall.is_sound'::regproc
union all
select 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(pg_trigger.oid), '', '', '' from pg_trigger
join pg_class on pg_class.oid = tgrelid where relnamespace = 'rolecall'::regnamespace and not tgisinternal
union all
select 'index', tablename, indexname, indexdef, '', '', '' from pg_indexes
where schemaname = 'rolecall' and tablename !~ '_[0-9]{8}$' and tablename !~ '^schema_(migrations|files)$'
union all
select 'settings', relname, coalesce(array_to_string(reloptions, ' '), ''), relreplident::text, '', '', '' from pg_class
where relnamespace = 'rolecall'::regnamespace and relkind in ('r', 'p') and relname !~ '_[0-9]{8}$'
    and relname !~ '^schema_(migrations|files)$'
union all
select 'enum', enumtypid::regtype::text, enumlabel,
    (row_number() over (partition by enumtypid order by enumsortorder))::text, '', '', '' from pg_enum
order by 1, 2, 3, 4
"""
