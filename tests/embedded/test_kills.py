"""Recovery after kill -9 of one or all processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from rolecall.embedded.home import Home
from rolecall.embedded.process import running_postmaster, wait_until
from rolecall.embedded.server import EmbeddedServer
from tests.embedded.helpers import (
    PATIENCE,
    WRITER,
    Attach,
    ask,
    cluster,
    do,
    fast_shutdowns,
    is_gone,
    kill_server,
    server_log,
    server_pid,
    stop_leftovers,
)

RACERS = 8
WRITERS = 4
ENOUGH_ACKS = 400


def test_eight_concurrent_starters_start_and_stop_one_server(cold_dir: Path, attach: Attach) -> None:
    racers = [attach(cold_dir) for _ in range(RACERS)]
    pids = {racer.server_pid for racer in racers}
    statuses = [racer.leave() for racer in racers]

    assert len(pids) == 1
    assert statuses == [0] * RACERS
    assert is_gone(pids.pop())
    assert wait_until(lambda: fast_shutdowns(cold_dir) > 0, PATIENCE)
    assert server_log(cold_dir).count("starting PostgreSQL") == 1
    assert fast_shutdowns(cold_dir) == 1


def test_concurrent_users_in_random_order_leave_no_server_running(data_dir: Path, attach: Attach) -> None:
    """Each process finds a server that is starting, running or stopping."""
    for _ in range(3):
        racers = [attach(data_dir) for _ in range(3)]
        assert [racer.leave() for racer in racers] == [0, 0, 0]

    assert server_pid(data_dir) is None


def test_server_of_a_killed_user_is_reused_and_stopped_by_the_next(data_dir: Path, attach: Attach) -> None:
    first = attach(data_dir)
    pid = first.server_pid
    first.kill()
    assert server_pid(data_dir) == pid

    with EmbeddedServer(data_dir) as server:
        assert server.pid == pid

    assert is_gone(pid)


def test_server_of_a_killed_user_can_be_stopped_without_attaching(data_dir: Path, attach: Attach) -> None:
    user = attach(data_dir)
    pid = user.server_pid
    user.kill()

    EmbeddedServer(data_dir).stop_if_unused()

    assert is_gone(pid)


def test_server_in_use_is_not_stopped(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        EmbeddedServer(data_dir).stop_if_unused()

        assert ask(server.dsn(), "select 1") == 1


def test_folder_without_a_server_has_nothing_to_stop(cold_dir: Path) -> None:
    EmbeddedServer(cold_dir).stop_if_unused()

    assert Home.under(cold_dir).newest_cluster() is None


def test_killed_server_is_restarted(data_dir: Path, attach: Attach) -> None:
    first = attach(data_dir)
    assert first.server_pid
    first.kill()
    kill_server(data_dir)

    with EmbeddedServer(data_dir) as server:
        assert ask(server.dsn(), "select 1") == 1


def test_no_acknowledged_row_is_lost_when_everything_is_killed(data_dir: Path, tmp_path: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        do(server.dsn(), "create table acks (writer text, number int)")
    writers = {f"w{number}": tmp_path / f"w{number}" for number in range(WRITERS)}
    processes = [
        subprocess.Popen([sys.executable, str(WRITER), str(data_dir), name, str(acks)])
        for name, acks in writers.items()
    ]
    assert wait_until(lambda: all(len(acked(acks)) > ENOUGH_ACKS // WRITERS for acks in writers.values()), PATIENCE)

    kill_server(data_dir)
    for process in processes:
        process.kill()
        process.wait()

    with EmbeddedServer(data_dir) as server, psycopg.connect(server.dsn()) as connection:
        for name, acks in writers.items():
            rows = connection.execute("select number from acks where writer = %s", [name])
            assert acked(acks) - {number for (number,) in rows} == set()


def acked(log: Path) -> set[int]:
    return {int(line) for line in log.read_text().split()} if log.exists() else set()


@pytest.fixture
def cold_dirs(tmp_path: Path) -> Iterator[list[Path]]:
    """Missing data directories; more than one, because the kill can come too late."""
    folders = [tmp_path / f"cold{number}" for number in range(5)]
    yield folders
    for folder in folders:
        stop_leftovers(folder)


def is_killed_in_time(data_dir: Path, attach: Attach) -> bool:
    """Kill a starter while it creates the cluster; return False if the cluster was created first."""
    home = Home.under(data_dir)
    starter = attach(data_dir)
    assert wait_until(lambda: any(home.folder.glob("data-*/base")), PATIENCE)
    starter.kill()
    return home.newest_cluster() is None


def test_killing_a_starter_while_it_creates_the_cluster_does_no_harm(cold_dirs: list[Path], attach: Attach) -> None:
    half_made = next((folder for folder in cold_dirs if is_killed_in_time(folder, attach)), None)
    assert half_made

    with EmbeddedServer(half_made) as server:
        assert ask(server.dsn(), "select 1") == 1


def test_killing_a_starter_before_the_server_is_up_does_no_harm(data_dir: Path, attach: Attach) -> None:
    with EmbeddedServer(data_dir):
        pass
    data = cluster(data_dir)
    starter = attach(data_dir)
    assert wait_until(lambda: running_postmaster(data) is not None, PATIENCE)
    starter.kill()

    with EmbeddedServer(data_dir) as server:
        assert ask(server.dsn(), "select 1") == 1
    assert server_pid(data_dir) is None


def test_start_waits_for_a_stopping_server_and_restarts_it(data_dir: Path, attach: Attach) -> None:
    """This happens if the last user is killed just after it has told the server to stop."""
    last = attach(data_dir)
    pid = last.server_pid
    last.kill()
    os.kill(pid, signal.SIGINT)

    with EmbeddedServer(data_dir) as server:
        assert server.pid != pid
        assert ask(server.dsn(), "select 1") == 1


def test_start_waits_for_backends_that_outlive_a_killed_server(data_dir: Path, attach: Attach) -> None:
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        backend = psutil.Process(connection.info.backend_pid)
        backend.suspend()
        os.kill(int(server.pid or 0), signal.SIGKILL)
        starter = attach(data_dir)
        assert wait_until(lambda: "pre-existing shared memory block" in startup_log(data_dir), PATIENCE)

        backend.kill()

        assert ask(starter.dsn, "select 1") == 1
        starter.leave()


def startup_log(data_dir: Path) -> str:
    return Home.under(data_dir).startup_log.read_text()
