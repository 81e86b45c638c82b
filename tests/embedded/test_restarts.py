"""A server that stops while processes are attached."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psycopg
import pytest

from rolecall.embedded.process import wait_until
from rolecall.embedded.server import EmbeddedServer, keep_running
from tests.embedded.helpers import PATIENCE, Attach, ask, kill_server, server_pid


def answers(dsn: str) -> bool:
    try:
        return bool(ask(dsn, "select true"))
    except psycopg.OperationalError:
        return False


def test_killed_server_is_restarted_while_kept_running(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        dsn = server.dsn()
        with keep_running(server):
            kill_server(data_dir)

            assert wait_until(lambda: answers(dsn), PATIENCE)


def test_stopped_server_is_restarted_while_kept_running(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        dsn, pid = server.dsn(), server.pid
        assert pid is not None
        with keep_running(server):
            os.kill(pid, signal.SIGINT)

            assert wait_until(lambda: server_pid(data_dir) not in {None, pid} and answers(dsn), PATIENCE)


def test_restarted_server_is_stopped_by_its_last_user(data_dir: Path, attach: Attach) -> None:
    other = attach(data_dir)
    assert other.server_pid
    with EmbeddedServer(data_dir) as server, keep_running(server):
        kill_server(data_dir)
        assert wait_until(lambda: server_pid(data_dir) is not None, PATIENCE)
    revived = server_pid(data_dir)

    assert revived is not None
    assert other.leave() == 0
    assert server_pid(data_dir) is None


def test_running_server_is_not_restarted(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolecall.embedded.server.LOOK_SECONDS", 0.001)
    with EmbeddedServer(data_dir) as server:
        pid = server.pid
        with keep_running(server), psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("select pg_sleep(0.2)")

            assert server.pid == pid


def test_removed_folder_is_not_recreated(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolecall.embedded.server.LOOK_SECONDS", 0.001)
    elsewhere = data_dir.with_name("elsewhere")
    with EmbeddedServer(data_dir) as server:
        looks = iter(range(100))
        with keep_running(server):
            data_dir.rename(elsewhere)
            wait_until(lambda: next(looks, None) is None, PATIENCE)

        assert not data_dir.exists()
        elsewhere.rename(data_dir)
