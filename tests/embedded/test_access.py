"""Access to the server and its files, and the server's access to our files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rolecall.embedded.connection import Address, Login
from rolecall.embedded.home import Home
from rolecall.embedded.server import EmbeddedServer
from tests.embedded.helpers import Attach, ask, cluster, do, kill_server, stop_leftovers
from tests.embedded.strangers import Stranger


def test_connecting_without_password_is_rejected(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        without = make_conninfo(server.dsn(), password="", passfile=os.devnull)

        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(without)


def test_connecting_with_wrong_password_is_rejected(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        wrong = server.dsn().replace("rolecall:", "rolecall:x", 1)

        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)


def test_all_hba_rules_require_scram(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        methods = "select string_agg(distinct auth_method, ',') from pg_hba_file_rules"

        assert ask(server.superuser_dsn(), methods) == "scram-sha-256"


def test_server_listens_on_loopback_only(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        connections = psutil.Process(server.pid).net_connections("all")
        listening = {each.laddr[0] for each in connections if each.status == psutil.CONN_LISTEN}

        assert listening == {"127.0.0.1"}


def test_socket_is_in_private_folder_of_the_cluster(short_dir: Path) -> None:
    with EmbeddedServer(short_dir) as server, psycopg.connect(server.dsn()) as connection:
        folder = Path(connection.info.host)

        assert folder == cluster(short_dir)
        assert folder.stat().st_mode & 0o777 == 0o700


def test_connections_use_port_if_folder_is_too_long_for_a_socket(short_dir: Path) -> None:
    long = short_dir / ("x" * 100)
    with EmbeddedServer(long) as server, psycopg.connect(server.dsn()) as connection:
        assert connection.info.host == "127.0.0.1"
    stop_leftovers(long)


def test_connection_string_stays_valid_after_port_change(short_dir: Path) -> None:
    with EmbeddedServer(short_dir) as server:
        dsn = server.dsn()
        kill_server(short_dir)
        port = Home.under(short_dir).last_port()
        with socket.create_server(("127.0.0.1", port or 0)):
            server.attach()

            assert ask(dsn, "select 1") == 1
            assert Home.under(short_dir).last_port() != port


def test_foreign_program_on_port_of_stopped_server_is_not_contacted(short_dir: Path) -> None:
    with EmbeddedServer(short_dir) as server:
        dsn = server.dsn()
        kill_server(short_dir)
        with Stranger(Home.under(short_dir).last_port() or 0) as stranger, pytest.raises(psycopg.OperationalError):
            psycopg.connect(dsn)

    assert stranger.messages == []


def test_foreign_program_on_port_of_server_does_not_get_password(tmp_path: Path) -> None:
    with Stranger(0) as stranger, pytest.raises(psycopg.OperationalError, match="requested a cleartext password"):
        psycopg.connect(Address(tmp_path, stranger.port).dsn(Login("rolecall", "the secret"), "rolecall"))

    assert b"rolecall" in stranger.messages[0]
    assert b"the secret" not in b"".join(stranger.messages)


def test_password_files_and_folder_are_readable_by_their_user_only(data_dir: Path) -> None:
    with EmbeddedServer(data_dir):
        home = Home.under(data_dir)

        assert home.password_file.stat().st_mode & 0o777 == 0o600
        assert home.superuser_password_file.stat().st_mode & 0o777 == 0o600
        assert home.folder.stat().st_mode & 0o777 == 0o700


def test_passwords_differ_between_data_directories(tmp_path: Path) -> None:
    first, second = Home.under(tmp_path / "a"), Home.under(tmp_path / "b")
    for home in (first, second):
        home.open()
        home.make_password()
        home.make_superuser_password()

    secrets = [secret for home in (first, second) for secret in (home.password(), home.superuser_password())]
    assert len(set(secrets)) == 4


def test_server_inherits_no_lock(data_dir: Path) -> None:
    """All processes of the server are forks of the postmaster."""
    with EmbeddedServer(data_dir) as server:
        opened = [str(link.readlink()) for link in Path(f"/proc/{server.pid}/fd").iterdir()]

        assert opened
        assert [name for name in opened if name.endswith(".lock")] == []


def test_server_runs_in_its_own_session(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        assert server.pid is not None
        assert os.getsid(server.pid) != os.getsid(0)


def test_server_ignores_postgres_environment_variables_of_its_starter(
    data_dir: Path, tmp_path: Path, attach: Attach
) -> None:
    starter = attach(data_dir, environment={"PGDATA": str(tmp_path), "PGSSLMODE": "require", "LC_ALL": "xx_YY"})

    do(starter.dsn, "create table made (number int)")
    assert starter.leave() == 0


def test_exit_of_forked_child_does_not_detach_its_parent(data_dir: Path, attach: Attach) -> None:
    with EmbeddedServer(data_dir) as server:
        child = os.fork()
        if child == 0:
            server.detach()
            os._exit(0)
        os.waitpid(child, 0)
        other = attach(data_dir)
        assert other.leave() == 0

        assert ask(server.dsn(), "select 1") == 1
