"""Commands for workers and roles: `rolecall workers` and `rolecall roles`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tests.cli.conftest import Run
from tests.cli.processes import until

Sql = Callable[..., list[tuple[Any, ...]]]
Spawn = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def worker(sql: Sql) -> int:
    [(worker_id,)] = sql("select rolecall.register_worker('w', '{sums}', '{add}', 2, 'host', 1, '0', 'pod-7')")
    return int(worker_id)


def test_worker_can_be_shown_drained_decommissioned_and_resumed(cli: Run, worker: int) -> None:
    assert "pod-7" in cli("workers", "show", worker).out
    assert cli("workers", "drain", worker).out == f"worker {worker} claims no new tasks\n"
    assert cli("workers", "decommission", worker, "--json").json["command"] == "decommission"
    assert cli("workers", "show", worker, "--json").json["worker"]["state"] == "leaving"
    assert cli("workers", "resume", worker).out == f"worker {worker} claims tasks again\n"


def test_unknown_worker_is_not_found(cli: Run) -> None:
    done = cli("workers", "drain", 4711)

    assert (done.code, done.err) == (4, "rolecall: no worker 4711 is registered\n")


def test_role_can_be_paused_for_a_time_and_resumed(cli: Run) -> None:
    assert cli("roles", "pause", "sums", "--for", "15m").out.startswith("role sums paused until 20")
    [role] = cli("roles", "list", "--json").json
    assert role["paused_until"] > role["paused_at"]
    assert cli("roles", "resume", "sums").out == "role sums resumed\n"
    assert cli("roles", "resume", "sums").out == "role sums was not paused\n"
    assert cli("roles", "pause", "sums").out == "role sums paused until it is resumed\n"


@pytest.mark.parametrize(
    ("arguments", "code"), [(["sum"], 4), (["sums", "--for", "0"], 2), (["sums", "--for", "soon"], 2)]
)
def test_invalid_pause_is_rejected(cli: Run, arguments: list[str], code: int) -> None:
    assert cli("roles", "pause", *arguments).code == code


def test_decommissioned_process_exits_successfully_and_is_not_restarted(cli: Run, spawn: Spawn, dsn: str) -> None:
    """Of two processes under a supervisor, the decommissioned one is not restarted."""
    supervisor = spawn("worker", "--app", "shop:app", "--processes", "2", DATABASE_URL=dsn)

    def roll() -> list[dict[str, Any]]:
        workers: list[dict[str, Any]] = cli("workers", "list", "--json").json
        return workers

    until(lambda: len(roll()) == 2, "both are registered")
    leaving, staying = roll()
    cli("workers", "decommission", leaving["id"])
    until(lambda: not psutil.pid_exists(leaving["pid"]), "its process has ended")

    assert [worker["id"] for worker in roll()] == [staying["id"]]
    cli("workers", "decommission", staying["id"])
    assert supervisor.wait(40) == 0
