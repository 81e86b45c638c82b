"""The calls of a release work after each step towards the next one: expand, functions, contract."""

from __future__ import annotations

import re
import shutil
from importlib.resources import as_file
from pathlib import Path

import psycopg
import pytest

from rolecall.db.migrations import ROLECALL, Migrations, Phase
from rolecall.db.migrator import check, migrate, pending, pending_sql, sql_text
from rolecall.model.errors import InvalidDeclaration, MigrationFailed, SchemaMissing
from tests.db.released_calls import after_each_step, released_worker
from tests.db.shop import Connection, function, write

DROPS = re.compile(
    r"\bdrop\s+(function|procedure|routine|view|table|type|column|trigger|schema)\b|\brename\s+(to|column)\b"
    r"|\balter\s+column\s+\w+\s+(set\s+data\s+)?type\b",
    re.IGNORECASE,
)
EXPAND = "-- breaking: no\nalter table rolecall.tasks add column note text;"
REPLACE = "-- breaking: no\n-- phase: functions\ndrop function rolecall.status_word(int);"
CONTRACT = "-- breaking: no\n-- phase: contract\ndrop function rolecall.helper();\nalter table rolecall.tasks drop column spare;"
# The previous release: claims call `helper`, which reads `spare`.
HELPER = "create or replace function rolecall.helper() returns bigint language sql as 'select count(spare) from rolecall.tasks';"
CALLS_HELPER = "perform rolecall.require_read_committed();"


@pytest.fixture
def first(tmp_path: Path) -> Migrations:
    """This release with a column and functions that the next one removes."""
    root = tmp_path / "first"
    with as_file(ROLECALL.folder.joinpath("..")) as package:
        shutil.copytree(package / "migrations", root / "migrations")
        shutil.copytree(package / "functions", root / "functions")
    write(root, "migrations/9000_spare.sql", "-- breaking: no\nalter table rolecall.tasks add column spare text;")
    write(root, "functions/helper.sql", HELPER)
    write(
        root,
        "functions/status_word.sql",
        function("status_word", "1").replace("shop.", "rolecall.").replace("()", "(n int)"),
    )
    claim = (root / "functions/claim/claim.sql").read_text("utf-8")
    assert CALLS_HELPER in claim
    calling = claim.replace(CALLS_HELPER, f"{CALLS_HELPER} perform rolecall.helper(), rolecall.status_word(1);")
    (root / "functions/claim/claim.sql").write_text(calling, "utf-8")
    return Migrations(name="rolecall", folder=root / "migrations", functions=root / "functions")


@pytest.fixture
def second(tmp_path: Path, first: Migrations) -> Migrations:
    """The next release."""
    root = tmp_path / "second"
    shutil.copytree(tmp_path / "first", root)
    with as_file(ROLECALL.folder.joinpath("../functions/claim/claim.sql")) as claim:
        shutil.copy(claim, root / "functions/claim/claim.sql")
    (root / "functions/helper.sql").unlink()
    as_text = "create or replace function rolecall.status_word(n int) returns text language sql as 'select n::text';"
    write(root, "functions/status_word.sql", as_text)
    write(root, "migrations/9001_note.sql", EXPAND)
    write(root, "migrations/9002_status_word.sql", REPLACE)
    write(root, "migrations/9003_spare.sql", CONTRACT)
    return Migrations(name="rolecall", folder=root / "migrations", functions=root / "functions")


@pytest.fixture
def migrated(conn: Connection, first: Migrations) -> Connection:
    migrate(conn, first)
    return conn


def test_older_worker_runs_after_each_step_to_the_next_release(
    migrated: Connection, empty: str, second: Migrations
) -> None:
    with released_worker(empty) as worker:
        watch = after_each_step(worker)
        migrate(migrated, second, after_commit=watch)

    assert watch.failed == {}
    assert watch.seen == ["9001_note", "9002_status_word", "functions", "9003_spare"]
    assert migrated.execute("select rolecall.status_word(7)").fetchall() == [("7",)]
    assert pending(migrated, second) == []


@pytest.mark.parametrize("what", ["drop function rolecall.helper();", "alter table rolecall.tasks drop column spare;"])
def test_drop_before_the_functions_fails_the_check_with_an_older_worker(
    migrated: Connection, empty: str, second: Migrations, tmp_path: Path, what: str
) -> None:
    write(tmp_path / "second", "migrations/9001_note.sql", f"-- breaking: no\n{what}")
    write(tmp_path / "second", "migrations/9003_spare.sql", "-- breaking: no\n-- phase: contract\nselect;")
    with released_worker(empty) as worker:
        watch = after_each_step(worker)
        migrate(migrated, second, after_commit=watch)

    assert list(watch.failed) == ["9001_note"], "the functions of the second release need none of it"


@pytest.mark.parametrize("broken", ["9001_note", "9002_status_word", "9003_spare", "functions"])
def test_migration_that_fails_at_any_step_does_not_stop_older_workers(
    migrated: Connection, empty: str, second: Migrations, tmp_path: Path, broken: str
) -> None:
    file = "functions/zzz.sql" if broken == "functions" else f"migrations/{broken}.sql"
    path = tmp_path / "second" / file
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}\nselect 1 / 0;")
    with released_worker(empty) as worker:
        with pytest.raises(MigrationFailed):
            migrate(migrated, second)
        worker.work_off()
    path.write_text(before)

    migrate(migrated, second)

    assert pending(migrated, second) == []


def test_worker_of_the_next_release_starts_before_the_contract_step(
    migrated: Connection, second: Migrations, tmp_path: Path
) -> None:
    contract = tmp_path / "second" / "migrations" / "9003_spare.sql"
    text = contract.read_text()
    contract.write_text(f"{text}\nselect 1 / 0;")
    with pytest.raises(SchemaMissing):
        check(migrated, second)
    with pytest.raises(MigrationFailed):
        migrate(migrated, second)
    contract.write_text(text)

    check(migrated, second)

    assert pending(migrated, second) == ["9003_spare"]


def test_scripts_apply_the_steps_in_the_same_order(migrated: Connection, second: Migrations) -> None:
    labels = r"^-- rolecall: (9001_note|9002_status_word|functions|9003_spare)$"
    order = ["9001_note", "9002_status_word", "functions", "9003_spare"]

    script = pending_sql(migrated, second)

    assert re.findall(labels, script, re.MULTILINE) == order
    assert re.findall(labels, sql_text(second), re.MULTILINE) == order
    assert script.count("commit;") == 3
    with psycopg.ClientCursor(migrated) as cursor:
        cursor.execute(script.encode())
    assert pending(migrated, second) == []


@pytest.mark.parametrize("header", ["-- phase: later", "-- transaction: no\n-- phase: functions"])
def test_unknown_or_impossible_phase_is_rejected(shop: Migrations, tmp_path: Path, header: str) -> None:
    write(tmp_path, "migrations/0003_phase.sql", f"{header}\nselect;")

    with pytest.raises(InvalidDeclaration, match="0003_phase"):
        shop.read()


def test_expanding_migrations_drop_nothing_that_functions_use() -> None:
    dropping = [
        step.label
        for step in ROLECALL.read().numbered
        if step.phase is Phase.EXPAND and DROPS.search(re.sub(r"--[^\n]*", "", step.sql))
    ]

    assert dropping == [], "use `-- phase: functions` or `-- phase: contract` (decision 0016)"
