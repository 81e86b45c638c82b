"""`rolecall migrate`, and other commands on a database without migrations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from rolecall import EmbeddedServer, migrate
from rolecall.db.connect import connect
from rolecall.db.privileges import are_granted
from rolecall.testing import TestServer
from tests.cli.conftest import Run
from tests.durability import durable
from tests.logins import login

__all__ = ["durable"]


@pytest.fixture
def empty(postgres_server: TestServer, monkeypatch: pytest.MonkeyPatch, bare: Run) -> Iterator[str]:
    name = f"rolecall_empty_{uuid4().hex[:12]}"
    postgres_server.create(name)
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn(name))
    yield postgres_server.dsn(name)
    postgres_server.drop(name)


def test_second_migration_does_nothing(empty: str, bare: Run) -> None:
    assert "0001_schema" in bare("migrate", "--json").json["applied"]
    assert bare("migrate", "--json").json == {"applied": []}
    assert "nothing to do" in bare("migrate").out


def test_check_lists_pending_migrations_and_changes_nothing(empty: str, bare: Run) -> None:
    checked = bare("migrate", "--check", "--json")

    assert checked.code == 7
    assert "0001_schema" in checked.json["pending"]
    assert bare("migrate", "--check").code == 7


def test_check_of_a_current_database_succeeds(empty: str, bare: Run) -> None:
    bare("migrate")

    assert (bare("migrate", "--check").code, bare("migrate", "--check", "--json").json) == (0, {"pending": []})


def test_printed_script_creates_the_same_schema(empty: str, bare: Run, folder: Path) -> None:
    script = bare("migrate", "--sql").out

    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(script.encode())

    assert bare("migrate", "--check").code == 0


def test_migration_without_roles_grants_no_rights(empty: str, bare: Run) -> None:
    bare("migrate")

    with connect(empty, "test") as connection:
        assert not are_granted(connection)


@pytest.mark.parametrize("before", ["nothing", "a schema"])
def test_roles_are_granted_on_request(empty: str, bare: Run, before: str) -> None:
    bare("migrate") if before == "a schema" else None

    done = bare("migrate", "--roles")

    assert done.code == 0, done.err
    with login(empty, "rolecall_read") as reached, connect(reached, "test") as reader:
        assert reader.execute("select from rolecall.all_tasks").fetchall() == []


def test_printed_script_grants_the_roles(empty: str, bare: Run) -> None:
    bare("migrate")
    script = bare("migrate", "--roles", "--sql").out

    with connect(empty, "test") as connection:
        connection.execute(script.encode())
        assert are_granted(connection)


def test_plan_shows_the_migration_and_changes_nothing(empty: str, bare: Run) -> None:
    planned = bare("migrate", "--plan", "--json").json["plan"]

    assert [step["step"] for step in planned] == bare("migrate", "--check", "--json").json["pending"]
    assert "claim/claim.sql" in next(step["files"] for step in planned if step["step"] == "functions")
    assert "0001_schema" in bare("migrate", "--plan").out
    assert bare("migrate").code == 0
    assert bare("migrate", "--plan", "--json").json == {"plan": []}
    assert "nothing to do" in bare("migrate", "--plan").out


def test_script_of_pending_migrations_updates_this_database(empty: str, bare: Run) -> None:
    bare("migrate")
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("drop function rolecall.next_due")
        script = bare("migrate", "--sql", "--plan").out
        assert "rolecall.next_due" in script
        assert "rolecall.claim(" not in script
        connection.execute(script.encode())

    assert bare("migrate", "--check").code == 0


def test_blocked_migration_exits_with_code_6_and_names_the_blocker(empty: str, bare: Run) -> None:
    bare("migrate")
    with psycopg.connect(empty, application_name="a long report") as reader:
        reader.execute("alter view rolecall.all_workers reset (security_invoker)")
        reader.execute("update rolecall.schema_files set checksum = 'of another release'")
        reader.commit()
        reader.execute("select * from rolecall.all_workers")
        done = bare("migrate", "--patience", "0")

    assert done.code == 6
    assert "a long report" in done.err


def test_script_and_check_are_mutually_exclusive(bare: Run) -> None:
    assert bare("migrate", "--sql", "--check").code == 2


def test_database_without_a_schema_exits_with_code_7(empty: str, bare: Run) -> None:
    done = bare("counts")

    assert (done.code, len(done.err.splitlines())) == (7, 1)
    assert done.err.endswith("; run: rolecall migrate\n")


@pytest.mark.usefixtures("durable")
def test_doctor_finds_nothing_right_after_a_migration(empty: str, bare: Run) -> None:
    bare("migrate")

    doctor = bare("doctor")
    assert (doctor.code, doctor.out[:12]) == (0, "no problems:")


def test_embedded_database_is_migrated_automatically(bare: Run, folder: Path) -> None:
    with EmbeddedServer(folder / "rolecall-data") as server:
        server.dsn()

    assert (bare("counts").code, bare("migrate", "--check").code) == (0, 0)


def test_check_leaves_the_embedded_database_unchanged(bare: Run, folder: Path) -> None:
    with EmbeddedServer(folder / "rolecall-data") as server:
        server.dsn()

    assert [bare("migrate", "--check").code for _ in range(2)] == [7, 7]


def test_newer_embedded_database_is_used_unchanged_if_compatible(bare: Run, folder: Path) -> None:
    newer = (
        "insert into rolecall.schema_migrations (package, version, name, checksum, breaking)"
        " values ('rolecall', 9999, 'from_tomorrow', '', %s)"
    )
    with EmbeddedServer(folder / "rolecall-data") as server, psycopg.connect(server.dsn(), autocommit=True) as newest:
        migrate(newest)
        newest.execute(newer, [False])
        compatible = bare("counts")
        newest.execute("update rolecall.schema_migrations set breaking = true where version = 9999")
        breaking = bare("counts")

    assert (compatible.code, breaking.code) == (0, 7)


def test_newer_database_exits_with_code_7(cli: Run, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "insert into rolecall.schema_migrations (package, version, name, checksum)"
            " values ('rolecall', 9999, 'from_tomorrow', '')"
        )

    done = cli("counts")

    assert done.code == 7
    assert "9999" in done.err
