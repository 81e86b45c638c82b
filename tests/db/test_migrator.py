from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from rolecall.db.connect import connect, connect_async
from rolecall.db.migrations import Migrations
from rolecall.db.migrator import check, check_async, migrate, pending, sql_text
from rolecall.model.errors import (
    DatabaseError,
    DatabaseReadOnly,
    InvalidDeclaration,
    MigrationFailed,
    SchemaDrift,
    SchemaMissing,
    SchemaTooNew,
)
from tests.db.shop import Connection, function, write


def test_fresh_database_gets_all_steps_in_order(conn: Connection, shop: Migrations) -> None:
    assert pending(conn, shop) == ["0001_begin", "0002_go_on", "functions"]
    assert migrate(conn, shop) == ["0001_begin", "0002_go_on", "functions"]
    assert conn.execute("select one from shop.v").fetchall() == [(1,)]
    check(conn, shop)


def test_second_run_finds_nothing_to_do_and_writes_nothing(conn: Connection, shop: Migrations) -> None:
    migrate(conn, shop)
    before = conn.execute("select pg_current_xact_id_if_assigned(), xmin from rolecall.schema_migrations")

    assert migrate(conn, shop) == []
    after = conn.execute("select pg_current_xact_id_if_assigned(), xmin from rolecall.schema_migrations")
    assert after.fetchall() == before.fetchall()


def test_eight_concurrent_migrators_apply_each_step_once(empty: str, shop: Migrations) -> None:
    def work(_: int) -> list[str]:
        with connect(empty, "test") as connection:
            return migrate(connection, shop)

    with ThreadPoolExecutor(8) as threads:
        done = sorted(label for labels in threads.map(work, range(8)) for label in labels)

    assert done == ["0001_begin", "0002_go_on", "functions"]


def test_changed_function_is_applied_again(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    migrate(conn, shop)
    write(tmp_path, "functions/internal/z.sql", function("one", "11"))

    assert migrate(conn, shop) == ["functions"]
    assert conn.execute("select one from shop.v").fetchall() == [(11,)]


def test_functions_can_reference_each_other_in_any_order(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "functions/internal/a.sql", function("early", "shop.one()"))

    migrate(conn, shop)

    assert conn.execute("select shop.early()").fetchall() == [(1,)]


def test_new_migration_applies_the_functions_again(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    migrate(conn, shop)
    write(tmp_path, "migrations/0003_more.sql", "drop view shop.v; alter table shop.a drop m;")

    assert migrate(conn, shop) == ["0003_more", "functions"]
    assert conn.execute("select one from shop.v").fetchall() == [(1,)]


def test_failing_file_leaves_earlier_files_applied(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/0002_go_on.sql", "create table shop.b (); select 1 / 0;")

    with pytest.raises(DatabaseError):
        migrate(conn, shop)

    assert pending(conn, shop) == ["0002_go_on", "functions"]
    assert conn.execute("select to_regclass('shop.b')").fetchall() == [(None,)]


def test_read_only_database_is_not_reported_as_a_failed_step(conn: Connection, shop: Migrations) -> None:
    conn.execute("set default_transaction_read_only = on")

    with pytest.raises(DatabaseReadOnly):
        migrate(conn, shop)

    conn.execute("reset default_transaction_read_only")
    assert migrate(conn, shop)


def test_edited_migration_is_detected(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    migrate(conn, shop)
    write(tmp_path, "migrations/0001_begin.sql", "create schema shop; -- edited")

    for call in (migrate, check, pending):
        with pytest.raises(SchemaDrift, match="0001_begin"):
            call(conn, shop)


LATER = (
    "insert into rolecall.schema_migrations (package, version, name, checksum, breaking)"
    " values ('shop', 9, 'later', '', {})"
)


@pytest.mark.parametrize("breaking", ["true", "default"])
def test_newer_breaking_schema_is_rejected(conn: Connection, shop: Migrations, breaking: str) -> None:
    migrate(conn, shop)
    conn.execute(LATER.format(breaking).encode())

    for call in (migrate, check):
        with pytest.raises(SchemaTooNew) as refused:
            call(conn, shop)
        assert (refused.value.known, refused.value.found) == (2, 9)


def test_newer_compatible_step_stops_the_migrator_but_no_worker(conn: Connection, shop: Migrations) -> None:
    migrate(conn, shop)
    conn.execute(LATER.format("false").encode())

    check(conn, shop)
    with pytest.raises(SchemaTooNew):
        migrate(conn, shop)


def test_header_marks_a_step_as_breaking(conn: Connection, shop: Migrations) -> None:
    migrate(conn, shop)

    stored = conn.execute("select version, breaking from rolecall.schema_migrations order by version")

    assert stored.fetchall() == [(0, False), (1, True), (2, False)]


async def test_empty_database_is_reported_as_missing_schema(empty: str, shop: Migrations) -> None:
    async with await connect_async(empty, "test") as connection:
        with pytest.raises(SchemaMissing) as refused:
            await check_async(connection, shop)

    assert refused.value.pending == ("0001_begin", "0002_go_on")


async def test_async_check_agrees_with_sync_check(database: str) -> None:
    async with await connect_async(database, "test") as connection:
        await check_async(connection)


def test_changed_functions_do_not_stop_a_worker(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    migrate(conn, shop)
    write(tmp_path, "functions/internal/z.sql", function("one", "11"))

    check(conn, shop)


def test_concurrent_migrators_take_a_fresh_snapshot_under_serializable_isolation(
    empty: str, conn: Connection, shop: Migrations
) -> None:
    """A default isolation level with a snapshot at the start of the transaction would hide the other's work."""
    conn.execute(f"alter database {conn.info.dbname} set default_transaction_isolation = serializable".encode())

    def work(_: int) -> list[str]:
        with connect(empty, "test") as connection:
            return migrate(connection, shop)

    with ThreadPoolExecutor(4) as threads:
        done = [label for labels in threads.map(work, range(4)) for label in labels]

    assert sorted(done) == ["0001_begin", "0002_go_on", "functions"]


def test_psql_script_creates_the_same_database(conn: Connection, shop: Migrations) -> None:
    with psycopg.ClientCursor(conn) as cursor:
        cursor.execute(sql_text(shop).encode())

    assert migrate(conn, shop) == []
    assert conn.execute("select one from shop.v").fetchall() == [(1,)]


def test_migrator_prepares_no_statements(conn: Connection, shop: Migrations) -> None:
    conn.prepare_threshold = 5
    migrate(conn, shop)

    assert conn.execute("select count(*) from pg_prepared_statements").fetchall() == [(0,)]
    assert conn.prepare_threshold == 5


def test_migration_file_without_a_number_is_rejected(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/later.sql", "")

    with pytest.raises(InvalidDeclaration, match=r"later\.sql"):
        migrate(conn, shop)


@pytest.mark.parametrize(
    ("place", "expected"),
    [("0002_go_elsewhere.sql", "more than one file has the number 0002"), ("0000_before.sql", "0000_before")],
)
def test_ambiguous_migration_numbers_are_rejected(
    conn: Connection, shop: Migrations, tmp_path: Path, place: str, expected: str
) -> None:
    write(tmp_path, f"migrations/{place}", "")

    with pytest.raises(InvalidDeclaration, match=expected):
        migrate(conn, shop)


def test_missing_migrations_folder_is_rejected(conn: Connection, tmp_path: Path) -> None:
    with pytest.raises(InvalidDeclaration, match="'shop' cannot be applied: .*nowhere cannot be read"):
        migrate(conn, Migrations(name="shop", folder=tmp_path / "nowhere"))


def test_failed_step_is_named_and_rolled_back(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/0003_more.sql", "create table shop.b (n int); create tabel shop.c (n int);")

    with pytest.raises(MigrationFailed, match='migration 0003_more of shop failed: syntax error at or near "tabel"'):
        migrate(conn, shop)

    assert conn.execute("select to_regclass('shop.b'), to_regclass('shop.a')::text").fetchone() == (None, "shop.a")


def test_packages_tables_are_created_outside_the_rolecall_schema(conn: Connection, tmp_path: Path) -> None:
    migrate(conn)
    conn.execute("set search_path = rolecall, public")
    (tmp_path / "migrations").mkdir()
    write(tmp_path, "migrations/0001_begin.sql", "create table unqualified (n int);")

    migrate(conn, Migrations(name="till", folder=tmp_path / "migrations"))

    found = conn.execute("select relnamespace::regnamespace::text from pg_class where relname = 'unqualified'")
    assert found.fetchone() == ("public",)


def test_rolecalls_own_script_runs_in_psql(empty: str) -> None:
    with connect(empty, "test") as connection, psycopg.ClientCursor(connection) as cursor:
        cursor.execute(sql_text().encode())
        assert pending(connection) == []
