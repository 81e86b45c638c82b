"""Who can reach the server and its files, and what the server can reach of ours."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rolecall.db.embedded import EmbeddedServer
from rolecall.db.embedded.home import Home
from tests.db.embedded.helpers import Attach, ask, do


def test_no_connection_is_made_without_the_password(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        without = make_conninfo(server.dsn(), password="", passfile=os.devnull)

        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(without)


def test_no_connection_is_made_with_a_wrong_password(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        wrong = server.dsn().replace("rolecall:", "rolecall:x", 1)

        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)


def test_all_ways_in_ask_for_scram(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        methods = "select string_agg(distinct auth_method, ',') from pg_hba_file_rules"

        assert ask(server.dsn(), methods) == "scram-sha-256"


def test_the_server_listens_on_loopback_only(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        connections = psutil.Process(server.pid).net_connections("all")
        listening = {each.laddr[0] for each in connections if each.status == psutil.CONN_LISTEN}

        assert listening == {"127.0.0.1"}
        assert ask(server.dsn(), "show unix_socket_directories") == ""


def test_files_that_open_the_server_are_its_users_alone(data_dir: Path) -> None:
    with EmbeddedServer(data_dir):
        home = Home.under(data_dir)

        assert home.password_file.stat().st_mode & 0o777 == 0o600
        assert home.folder.stat().st_mode & 0o777 == 0o700


def test_the_password_differs_between_data_directories(tmp_path: Path) -> None:
    first, second = Home.under(tmp_path / "a"), Home.under(tmp_path / "b")
    for home in (first, second):
        home.open()
        home.make_password()

    assert first.password() != second.password()


def test_the_server_inherits_no_lock(data_dir: Path) -> None:
    """All its processes are forks of the postmaster."""
    with EmbeddedServer(data_dir) as server:
        opened = [str(link.readlink()) for link in Path(f"/proc/{server.pid}/fd").iterdir()]

        assert opened
        assert [name for name in opened if name.endswith(".lock")] == []


def test_the_server_is_in_a_session_of_its_own(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        assert server.pid is not None
        assert os.getsid(server.pid) != os.getsid(0)


def test_the_environment_of_the_starter_does_not_lead_the_server_astray(
    data_dir: Path, tmp_path: Path, attach: Attach
) -> None:
    starter = attach(data_dir, environment={"PGDATA": str(tmp_path), "PGSSLMODE": "require", "LC_ALL": "xx_YY"})

    do(starter.dsn, "create table made (number int)")
    assert starter.leave() == 0


def test_a_forked_child_that_ends_takes_nothing_from_its_parent(data_dir: Path, attach: Attach) -> None:
    with EmbeddedServer(data_dir) as server:
        child = os.fork()
        if child == 0:
            server.detach()
            os._exit(0)
        os.waitpid(child, 0)
        other = attach(data_dir)
        assert other.leave() == 0

        assert ask(server.dsn(), "select 1") == 1
