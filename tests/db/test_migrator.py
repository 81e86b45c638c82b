from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from rolecall.db.connect import connect, connect_async
from rolecall.db.migrator import Migrations, check, check_async, migrate, pending, sql_text
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


def test_a_fresh_database_gets_everything_in_order(conn: Connection, shop: Migrations) -> None:
    assert pending(conn, shop) == ["0001_begin", "0002_go_on", "functions"]
    assert migrate(conn, shop) == ["0001_begin", "0002_go_on", "functions"]
    assert conn.execute("select one from shop.v").fetchall() == [(1,)]
    check(conn, shop)


def test_a_second_run_finds_nothing_to_do_and_writes_nothing(conn: Connection, shop: Migrations) -> None:
    migrate(conn, shop)
    before = conn.execute("select pg_current_xact_id_if_assigned(), xmin from rolecall.schema_migrations")

    assert migrate(conn, shop) == []
    after = conn.execute("select pg_current_xact_id_if_assigned(), xmin from rolecall.schema_migrations")
    assert after.fetchall() == before.fetchall()


def test_eight_migrators_at_once_do_the_work_of_one(empty: str, shop: Migrations) -> None:
    def work(_: int) -> list[str]:
        with connect(empty, "test") as connection:
            return migrate(connection, shop)

    with ThreadPoolExecutor(8) as threads:
        done = sorted(label for labels in threads.map(work, range(8)) for label in labels)

    assert done == ["0001_begin", "0002_go_on", "functions"]


def test_a_changed_function_is_applied_again(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    migrate(conn, shop)
    write(tmp_path, "functions/internal/z.sql", function("one", "11"))

    assert migrate(conn, shop) == ["functions"]
    assert conn.execute("select one from shop.v").fetchall() == [(11,)]


def test_functions_may_name_each_other_in_any_order(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "functions/internal/a.sql", function("early", "shop.one()"))

    migrate(conn, shop)

    assert conn.execute("select shop.early()").fetchall() == [(1,)]


def test_a_new_table_brings_the_functions_along(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    migrate(conn, shop)
    write(tmp_path, "migrations/0003_more.sql", "drop view shop.v; alter table shop.a drop m;")

    assert migrate(conn, shop) == ["0003_more", "functions"]
    assert conn.execute("select one from shop.v").fetchall() == [(1,)]


def test_a_file_that_fails_leaves_those_before_it(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/0002_go_on.sql", "create table shop.b (); select 1 / 0;")

    with pytest.raises(DatabaseError):
        migrate(conn, shop)

    assert pending(conn, shop) == ["0002_go_on", "functions"]
    assert conn.execute("select to_regclass('shop.b')").fetchall() == [(None,)]


def test_a_read_only_database_is_no_fault_of_a_step(conn: Connection, shop: Migrations) -> None:
    conn.execute("set default_transaction_read_only = on")

    with pytest.raises(DatabaseReadOnly):
        migrate(conn, shop)

    conn.execute("reset default_transaction_read_only")
    assert migrate(conn, shop)


def test_an_edited_file_is_noticed(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
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
def test_a_newer_database_is_refused(conn: Connection, shop: Migrations, breaking: str) -> None:
    migrate(conn, shop)
    conn.execute(LATER.format(breaking).encode())

    for call in (migrate, check):
        with pytest.raises(SchemaTooNew) as refused:
            call(conn, shop)
        assert (refused.value.known, refused.value.found) == (2, 9)


def test_a_newer_step_that_is_compatible_stops_a_migrator_but_no_worker(conn: Connection, shop: Migrations) -> None:
    migrate(conn, shop)
    conn.execute(LATER.format("false").encode())

    check(conn, shop)
    with pytest.raises(SchemaTooNew):
        migrate(conn, shop)


def test_the_header_says_whether_a_step_is_breaking(conn: Connection, shop: Migrations) -> None:
    migrate(conn, shop)

    stored = conn.execute("select version, breaking from rolecall.schema_migrations order by version")

    assert stored.fetchall() == [(0, False), (1, True), (2, False)]


async def test_an_empty_database_is_said_to_be_so(empty: str, shop: Migrations) -> None:
    async with await connect_async(empty, "test") as connection:
        with pytest.raises(SchemaMissing) as refused:
            await check_async(connection, shop)

    assert refused.value.pending == ("0001_begin", "0002_go_on")


async def test_the_async_check_agrees_with_the_sync_one(database: str) -> None:
    async with await connect_async(database, "test") as connection:
        await check_async(connection)


def test_other_functions_do_not_stop_a_worker(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    migrate(conn, shop)
    write(tmp_path, "functions/internal/z.sql", function("one", "11"))

    check(conn, shop)


def test_it_waits_for_its_turn_with_a_fresh_view(empty: str, conn: Connection, shop: Migrations) -> None:
    """A default isolation level with a snapshot at the start of the transaction would hide the other's work."""
    conn.execute(f"alter database {conn.info.dbname} set default_transaction_isolation = serializable".encode())

    def work(_: int) -> list[str]:
        with connect(empty, "test") as connection:
            return migrate(connection, shop)

    with ThreadPoolExecutor(4) as threads:
        done = [label for labels in threads.map(work, range(4)) for label in labels]

    assert sorted(done) == ["0001_begin", "0002_go_on", "functions"]


def test_the_script_for_psql_gives_the_same_database(conn: Connection, shop: Migrations) -> None:
    with psycopg.ClientCursor(conn) as cursor:
        cursor.execute(sql_text(shop).encode())

    assert migrate(conn, shop) == []
    assert conn.execute("select one from shop.v").fetchall() == [(1,)]


def test_nothing_is_prepared_as_a_pooler_would_lose_it(conn: Connection, shop: Migrations) -> None:
    conn.prepare_threshold = 5
    migrate(conn, shop)

    assert conn.execute("select count(*) from pg_prepared_statements").fetchall() == [(0,)]
    assert conn.prepare_threshold == 5


def test_a_file_of_another_name_is_refused(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/later.sql", "")

    with pytest.raises(InvalidDeclaration, match=r"later\.sql"):
        migrate(conn, shop)


@pytest.mark.parametrize(
    ("place", "said"),
    [("0002_go_elsewhere.sql", "more than one file has the number 0002"), ("0000_before.sql", "0000_before")],
)
def test_numbers_that_say_no_order_are_refused(
    conn: Connection, shop: Migrations, tmp_path: Path, place: str, said: str
) -> None:
    write(tmp_path, f"migrations/{place}", "")

    with pytest.raises(InvalidDeclaration, match=said):
        migrate(conn, shop)


def test_a_folder_that_is_not_there_is_refused(conn: Connection, tmp_path: Path) -> None:
    with pytest.raises(InvalidDeclaration, match="'shop' cannot be applied: .*nowhere cannot be read"):
        migrate(conn, Migrations(name="shop", folder=tmp_path / "nowhere"))


def test_a_step_that_the_database_refuses_is_named_and_leaves_nothing(
    conn: Connection, shop: Migrations, tmp_path: Path
) -> None:
    write(tmp_path, "migrations/0003_more.sql", "create table shop.b (n int); create tabel shop.c (n int);")

    with pytest.raises(MigrationFailed, match='migration 0003_more of shop failed: syntax error at or near "tabel"'):
        migrate(conn, shop)

    assert conn.execute("select to_regclass('shop.b'), to_regclass('shop.a')::text").fetchone() == (None, "shop.a")


def test_a_package_whose_user_is_called_like_our_schema_makes_its_tables_outside_of_it(
    conn: Connection, tmp_path: Path
) -> None:
    migrate(conn)
    conn.execute("set search_path = rolecall, public")
    (tmp_path / "migrations").mkdir()
    write(tmp_path, "migrations/0001_begin.sql", "create table unqualified (n int);")

    migrate(conn, Migrations(name="till", folder=tmp_path / "migrations"))

    found = conn.execute("select relnamespace::regnamespace::text from pg_class where relname = 'unqualified'")
    assert found.fetchone() == ("public",)


def test_the_script_of_rolecall_itself_runs_in_psql(empty: str) -> None:
    with connect(empty, "test") as connection, psycopg.ClientCursor(connection) as cursor:
        cursor.execute(sql_text().encode())
        assert pending(connection) == []
