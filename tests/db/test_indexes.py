"""Indexes on tables with rows are built outside a transaction, while other sessions write."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.db.migrations import Migrations
from rolecall.db.migrator import PlannedMigration, migrate, pending, pending_sql, plan, sql_text
from rolecall.embedded.binaries import find_binaries
from rolecall.model.errors import DatabaseError
from tests.db.shop import Connection, write

ALONE = "-- breaking: no\n-- transaction: no\n-- What it is for; and why.\n"
INDEX = f"{ALONE}create index concurrently a_by_n on shop.a (n) where n > 0;\n"
UNIQUE = f"{ALONE}create unique index concurrently a_by_n on shop.a (n);\n"
PARTITIONS = """
drop table shop.a;
create table shop.a (n int) partition by range (n);
create table shop.a_1 partition of shop.a for values from (0) to (10);
create table shop.a_2 partition of shop.a for values from (10) to (20);
insert into shop.a select generate_series(0, 19);
"""
VALID = (
    "select indexrelid::regclass::text, indisvalid from pg_index where indrelid::regclass::text ~ '^shop' order by 1"
)
DEADLINE = 30.0


@pytest.fixture
def filled(conn: Connection, shop: Migrations) -> Connection:
    migrate(conn, shop)
    conn.execute("insert into shop.a select generate_series(1, 100)")
    return conn


@contextmanager
def building(dsn: str, shop: Migrations) -> Iterator[ThreadPoolExecutor]:
    """Migrate in a thread until it waits for older transactions."""
    with ThreadPoolExecutor(1) as thread, connect(dsn, "migrate") as conn, connect(dsn, "look") as look:
        migrated = thread.submit(migrate, conn, shop)
        deadline = monotonic() + DEADLINE
        while look.execute("select count(*) from pg_stat_progress_create_index").fetchone() != (1,):
            assert monotonic() < deadline
            assert not migrated.done(), "it does not build an index concurrently"
            sleep(0.001)
        yield thread
        assert migrated.result(DEADLINE) == ["0003_index"]


def test_writers_are_not_blocked_while_an_index_waits_for_an_old_transaction(
    empty: str, filled: Connection, shop: Migrations, tmp_path: Path
) -> None:
    write(tmp_path, "migrations/0003_index.sql", INDEX)
    with connect(empty, "writer") as writer:
        writer.execute("begin")
        writer.execute("insert into shop.a values (1)")
        with building(empty, shop):
            filled.execute("set lock_timeout = '5s'")
            for _ in range(20):
                filled.execute("insert into shop.a values (2)")
            writer.execute("commit")

    assert filled.execute(VALID).fetchall() == [("shop.a_by_n", True)]


def test_table_and_each_partition_get_the_index(filled: Connection, shop: Migrations, tmp_path: Path) -> None:
    filled.execute(PARTITIONS)
    write(tmp_path, "migrations/0003_index.sql", INDEX)

    assert migrate(filled, shop) == ["0003_index"]

    own = [("shop.a_1_a_by_n", True), ("shop.a_2_a_by_n", True)]
    assert filled.execute(VALID).fetchall() == [*own, ("shop.a_by_n", True)]


def test_partition_with_a_matching_index_keeps_it(filled: Connection, shop: Migrations, tmp_path: Path) -> None:
    filled.execute(PARTITIONS)
    filled.execute("create index a_by_n on only shop.a (n)")
    filled.execute("create index by_hand on shop.a_1 (n)")
    filled.execute("alter index shop.a_by_n attach partition shop.by_hand")
    write(tmp_path, "migrations/0003_index.sql", INDEX.replace(" where n > 0", ""))

    migrate(filled, shop)

    assert filled.execute(VALID).fetchall() == [
        ("shop.a_2_a_by_n", True),
        ("shop.a_by_n", True),
        ("shop.by_hand", True),
    ]


def test_partitions_of_any_name_and_schema_get_the_index(filled: Connection, shop: Migrations, tmp_path: Path) -> None:
    long = "ü" * 27
    filled.execute(PARTITIONS)
    filled.execute("""create schema "Other's 100%" """)
    filled.execute("""alter table shop.a_1 set schema "Other's 100%" """)
    filled.execute("""alter table "Other's 100%".a_1 rename to "a.""b"" %s 1" """)
    filled.execute(f"alter table shop.a_2 rename to {long}_20260101")
    filled.execute(f"create table shop.{long}_20260102 partition of shop.a for values from (20) to (30)")
    write(tmp_path, "migrations/0003_index.sql", INDEX)

    assert migrate(filled, shop) == ["0003_index"]

    children = "select count(*), bool_and(indisvalid) from pg_inherits join pg_index on indexrelid = inhrelid"
    assert filled.execute(f"{children} where inhparent = 'shop.a_by_n'::regclass").fetchall() == [(3, True)]


@pytest.mark.parametrize("partitioned", [False, True])
def test_index_left_invalid_by_a_failed_build_is_rebuilt(
    filled: Connection, shop: Migrations, tmp_path: Path, partitioned: bool
) -> None:
    if partitioned:
        filled.execute(PARTITIONS)
    filled.execute("insert into shop.a values (1), (1)")
    write(tmp_path, "migrations/0003_index.sql", UNIQUE)
    with pytest.raises(DatabaseError, match="could not create unique index"):
        migrate(filled, shop)
    assert (False,) in filled.execute("select indisvalid from pg_index").fetchall()
    filled.execute("delete from shop.a where n = 1")

    assert migrate(filled, shop) == ["0003_index"]

    assert {valid for _, valid in filled.execute(VALID)} == {True}


def test_four_concurrent_migrators_build_an_index_once(
    empty: str, filled: Connection, shop: Migrations, tmp_path: Path
) -> None:
    write(tmp_path, "migrations/0003_index.sql", INDEX)

    def work(_: int) -> list[str]:
        with connect(empty, "test") as connection:
            return migrate(connection, shop)

    with ThreadPoolExecutor(4) as threads:
        done = [label for labels in threads.map(work, range(4)) for label in labels]

    assert done == ["0003_index"]
    assert filled.execute(VALID).fetchall() == [("shop.a_by_n", True)]


def test_table_without_rows_gets_a_plain_index(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/0003_index.sql", INDEX)

    assert "0003_index" in migrate(conn, shop)
    assert conn.execute(VALID).fetchall() == [("shop.a_by_n", True)]


def test_plan_marks_steps_that_run_outside_a_transaction(filled: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/0003_index.sql", INDEX)

    assert plan(filled, shop) == [PlannedMigration(step="0003_index", transaction=False)]
    assert pending(filled, shop) == ["0003_index"]


def test_script_for_an_empty_database_is_one_transaction(conn: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/0003_index.sql", INDEX)

    with psycopg.ClientCursor(conn) as cursor:
        cursor.execute(sql_text(shop).encode())

    assert migrate(conn, shop) == []
    assert conn.execute(VALID).fetchall() == [("shop.a_by_n", True)]


def test_script_for_an_existing_database_does_what_the_migrator_does(
    empty: str, filled: Connection, shop: Migrations, tmp_path: Path
) -> None:
    filled.execute(PARTITIONS)
    write(tmp_path, "migrations/0003_index.sql", INDEX)
    write(tmp_path, "functions/public/b.sql", "create or replace view shop.v as select shop.one() + 1 as one;")
    psql = find_binaries().postgres.parent / "psql"
    if not psql.exists():
        pytest.skip("psql is not installed with this server")

    script = pending_sql(filled, shop)
    subprocess.run(
        [psql, "-v", "ON_ERROR_STOP=1", "-q", empty], input=script, text=True, check=True, capture_output=True
    )

    assert pending(filled, shop) == []
    assert ("shop.a_by_n", True) in filled.execute(VALID).fetchall()
    assert filled.execute("select one from shop.v").fetchall() == [(2,)]
