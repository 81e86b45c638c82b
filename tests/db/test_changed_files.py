"""Only changed functions and views are applied."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.db.migrations import Migrations
from rolecall.db.migrator import migrate, pending, plan
from tests.db.shop import Connection, function, write

VIEW = "create or replace view shop.v as select shop.one() as one;"
# A statement that recreates an object leaves another version of its catalog row.
VERSIONS = """
select proname, xmin::text from pg_proc where pronamespace = 'shop'::regnamespace
union all select relname, xmin::text from pg_class where relnamespace = 'shop'::regnamespace and relkind = 'v'
union all select 'rule of ' || ev_class::regclass, xmin::text from pg_rewrite where ev_class = to_regclass('shop.v')
"""


@pytest.fixture
def database(conn: Connection, shop: Migrations, tmp_path: Path) -> Connection:
    write(tmp_path, "functions/internal/other.sql", function("other", "2"))
    migrate(conn, shop)
    return conn


def versions(conn: Connection) -> dict[str, str]:
    return dict(conn.execute(VERSIONS).fetchall())


def made_anew(conn: Connection, before: dict[str, str]) -> set[str]:
    return {name for name, version in versions(conn).items() if version != before.get(name)}


def test_only_functions_with_changed_text_are_replaced(database: Connection, shop: Migrations, tmp_path: Path) -> None:
    before = versions(database)
    write(tmp_path, "functions/internal/z.sql", function("one", "11"))

    assert [step.files for step in plan(database, shop)] == [("internal/z.sql",)]
    assert migrate(database, shop) == ["functions"]

    assert made_anew(database, before) == {"one"}
    assert pending(database, shop) == []


def test_view_whose_definition_is_unchanged_is_not_replaced(
    database: Connection, shop: Migrations, tmp_path: Path
) -> None:
    before = versions(database)
    write(tmp_path, "functions/public/b.sql", f"-- A word about it.\n{VIEW}")

    assert migrate(database, shop) == ["functions"]

    assert made_anew(database, before) == set()
    assert pending(database, shop) == []


@pytest.mark.parametrize(
    "sql",
    [
        "create or replace view shop.v as select shop.one() + 1 as one;",
        "create or replace view shop.v as select shop.one() as one, 2 as two;",
        "create or replace view shop.v with (security_invoker = true) as select shop.one() as one;",
    ],
)
def test_view_whose_definition_changed_is_replaced(
    database: Connection, shop: Migrations, tmp_path: Path, sql: str
) -> None:
    before = versions(database)
    write(tmp_path, "functions/public/b.sql", sql)

    migrate(database, shop)

    assert "rule of shop.v" in made_anew(database, before)


def test_readers_of_an_unchanged_view_do_not_block_a_migration(
    database: Connection, shop: Migrations, tmp_path: Path, empty: str
) -> None:
    write(tmp_path, "functions/public/b.sql", f"-- A word about it.\n{VIEW}")
    with connect(empty, "reader") as reader, reader.transaction():
        reader.execute("select * from shop.v")

        assert migrate(database, shop, patience=0) == ["functions"]


@pytest.mark.parametrize(("what", "name"), [("view shop.v", "v"), ("function shop.other()", "other")])
def test_dropped_objects_are_created_again(database: Connection, shop: Migrations, what: str, name: str) -> None:
    database.execute(f"drop {what}".encode())

    assert migrate(database, shop) == ["functions"]
    assert name in versions(database)


def test_function_without_a_file_is_not_dropped(database: Connection, shop: Migrations, tmp_path: Path) -> None:
    (tmp_path / "functions/internal/other.sql").unlink()

    assert migrate(database, shop) == ["functions"]
    assert database.execute("select shop.other()").fetchall() == [(2,)]


def test_function_whose_file_returns_is_applied_over_any_earlier_version(
    database: Connection, shop: Migrations, tmp_path: Path
) -> None:
    (tmp_path / "functions/internal/other.sql").unlink()
    migrate(database, shop)
    database.execute(function("other", "0").encode())
    write(tmp_path, "functions/internal/other.sql", function("other", "2"))

    migrate(database, shop)

    assert database.execute("select shop.other()").fetchall() == [(2,)]


def test_failing_functions_are_rolled_back(database: Connection, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "functions/internal/z.sql", function("one", "11"))
    write(tmp_path, "functions/public/c.sql", "create or replace view shop.w as select 1 / 0 from shop.missing;")

    with pytest.raises(Exception, match="missing"):
        migrate(database, shop)

    assert database.execute("select shop.one()").fetchall() == [(1,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        database.execute("select * from shop.w")
