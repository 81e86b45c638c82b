"""Migrations of an app are applied and checked by every command that names the app."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended

BRINGS = """
from pathlib import Path
from rolecall import App, Migrations

here = Path(__file__).parent / "tables"
tills = App("tills", migrations=[Migrations(name="tills", folder=here / "tills")])
app = App("shop", migrations=[Migrations(name="shop", folder=here / "shop")])
app.include(tills)

@app.task(role="sums")
def add(a: int, b: int) -> int:
    return a + b
"""
APP = "tables_of_shop:app"
STEPS = ["shop/0001_shelves", "tills/0001_tills"]
TABLES = "select relname from pg_class where relname in ('shelves', 'tills') order by relname"


@pytest.fixture
def shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with an app that no other test has imported."""
    monkeypatch.delitem(sys.modules, "tables_of_shop", raising=False)
    (folder / "tables_of_shop.py").write_text(BRINGS)
    for package, table in (("shop", "shelves"), ("tills", "tills")):
        (folder / "tables" / package).mkdir(parents=True)
        (folder / "tables" / package / f"0001_{table}.sql").write_text(f"create table {table} (n int);")
    return folder


def test_migrate_plans_checks_and_applies_migrations_of_an_app_and_its_slices(cli: Run, dsn: str, shop: Path) -> None:
    planned = cli("migrate", "--app", APP, "--plan", "--json").json["plan"]
    checked = cli("migrate", "--app", APP, "--check", "--json")
    applied = cli("migrate", "--app", APP, "--json").json["applied"]

    assert [step["step"] for step in planned] == STEPS
    assert (checked.code, checked.json) == (7, {"pending": STEPS})
    assert applied == STEPS
    assert cli("migrate", "--app", APP, "--check").code == 0


def test_migration_script_of_an_app_creates_its_tables(cli: Run, dsn: str, shop: Path) -> None:
    script = cli("migrate", "--app", APP, "--sql", "--plan").out

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(script.encode())
        assert connection.execute(TABLES).fetchall() == [("shelves",), ("tills",)]
    assert cli("migrate", "--app", APP, "--check").code == 0


@pytest.mark.parametrize("verb", ["worker", "serve"])
def test_command_that_does_not_migrate_reports_pending_migrations(cli: Run, dsn: str, shop: Path, verb: str) -> None:
    refused = cli(verb, "--app", APP, *(("--port", "0") if verb == "serve" else ()))

    assert refused.code == 7
    assert "lacks the schema of shop (0001_shelves); run: rolecall migrate --app MODULE:APP" in refused.err


def test_doctor_reports_pending_migrations(cli: Run, dsn: str, shop: Path) -> None:
    found = cli("doctor", "--app", APP, "--json")

    ours = [finding["problem"] for finding in found.json["findings"] if finding["check"] == "shop.schema"]
    assert found.code == 2
    assert len(ours) == 2


@pytest.mark.parametrize("verb", ["migrate", "up"])
def test_migration_rejected_by_the_database_is_reported_in_one_clear_line(
    cli: Run, dsn: str, shop: Path, verb: str
) -> None:
    (shop / "tables" / "tills" / "0002_more.sql").write_text("create tabel more (n int);")

    refused = cli(verb, "--app", APP)

    assert refused.code == 7
    assert 'rolecall: migration 0002_more of tills failed: syntax error at or near "tabel"' in refused.err


@pytest.mark.parametrize("verb", ["migrate", "up", "worker"])
def test_invalid_migration_file_is_reported_in_one_clear_line(cli: Run, dsn: str, shop: Path, verb: str) -> None:
    (shop / "tables" / "shop" / "more.sql").write_text("")

    refused = cli(verb, "--app", APP)

    assert refused.code == 2
    assert "the migrations of 'shop' cannot be applied: more.sql is not called like" in refused.err


def test_up_in_an_empty_folder_creates_all_tables(spawn: Spawn, execute: Run, shop: Path) -> None:
    up = spawn("up", "--app", APP, "--json")
    document(up)

    tables = execute("psql", "-At", "-c", TABLES)
    done = execute("enqueue", "add", '{"a": 1, "b": 2}', "--role", "sums", "--wait", "60", "--json")
    up.send_signal(signal.SIGTERM)

    assert tables.out == "shelves\ntills\n", tables.err
    assert done.json["task"]["result"] == 3
    assert ended(up).code == 0
