"""An app brings the migrations of its own tables."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from rolecall import App, InvalidDeclaration, Migrations, SchemaMissing, Severity, Worker, migrate
from rolecall.app.tables import SchemaCheck
from tests.db.shop import make_shop, write


@pytest.fixture
def shop(tmp_path: Path) -> Migrations:
    return make_shop(tmp_path)


async def problems(dsn: str, package: Migrations) -> list[str]:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        found = await SchemaCheck([package])(connection)
    assert all(finding.severity is Severity.TROUBLE for finding in found)
    return [finding.problem for finding in found]


def test_app_lists_its_own_migrations_and_each_slices_once(shop: Migrations, tmp_path: Path) -> None:
    mail = Migrations(name="mail", folder=tmp_path)
    app, slice_ = App("shop", migrations=[shop]), App("mail", migrations=[mail, shop])
    app.include(slice_)

    assert app.migrations == (shop, mail)
    assert [check.name for check in app.checks] == ["shop.schema"]


@pytest.mark.parametrize("name", ["rolecall", "", "shop"])
def test_duplicate_migration_name_is_rejected(shop: Migrations, tmp_path: Path, name: str) -> None:
    other = Migrations(name=name, folder=tmp_path / "elsewhere")

    with pytest.raises(InvalidDeclaration, match=f"already migrations named '{name}'"):
        App("shop", migrations=[shop, other])


def test_slice_with_a_duplicate_migration_name_is_not_included(shop: Migrations, tmp_path: Path) -> None:
    app, slice_ = App("shop", migrations=[shop]), App("mail")
    slice_ = App("mail", migrations=[Migrations(name="shop", folder=tmp_path / "elsewhere")])
    slice_.role("post")

    with pytest.raises(InvalidDeclaration, match="already migrations named 'shop'"):
        app.include(slice_)

    assert dict(app.roles) == {}


def test_non_migration_value_is_rejected() -> None:
    with pytest.raises(InvalidDeclaration, match=r"rolecall\.Migrations, not a str"):
        App("shop", migrations=["migrations"])  # type: ignore[list-item]


async def test_worker_does_not_start_without_its_apps_tables(database: str, shop: Migrations) -> None:
    with pytest.raises(SchemaMissing, match=r"schema of shop \(0001_begin, 0002_go_on\); run: rolecall migrate --app"):
        await Worker(App("shop", migrations=[shop]), database).run()


async def test_doctor_finds_nothing_if_all_migrations_are_applied(
    database: str, connection: psycopg.Connection[object], shop: Migrations
) -> None:
    migrate(connection, shop)

    assert await problems(database, shop) == []


async def test_doctor_reports_pending_migrations(database: str, shop: Migrations) -> None:
    assert await problems(database, shop) == ["the database lacks the schema of shop (0001_begin, 0002_go_on)"]


async def test_doctor_reports_migrations_unknown_to_this_release(
    database: str, connection: psycopg.Connection[object], shop: Migrations, tmp_path: Path
) -> None:
    write(tmp_path, "migrations/0003_more.sql", "alter table shop.a add o int;")
    migrate(connection, shop)
    (tmp_path / "migrations" / "0003_more.sql").unlink()

    assert await problems(database, shop) == ["the database has version 3 of shop, but this release knows only 2"]


async def test_doctor_reports_edited_migrations(
    database: str, connection: psycopg.Connection[object], shop: Migrations, tmp_path: Path
) -> None:
    migrate(connection, shop)
    write(tmp_path, "migrations/0001_begin.sql", "create schema shop; create table shop.other (n int);")

    assert await problems(database, shop) == ["migration 0001_begin of shop was edited after it had been applied"]


async def test_doctor_reports_broken_migrations(database: str, shop: Migrations, tmp_path: Path) -> None:
    write(tmp_path, "migrations/later.sql", "")

    [problem] = await problems(database, shop)

    assert problem.endswith("later.sql is not called like 0001_what_it_does.sql")
