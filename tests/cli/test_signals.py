"""Running tasks can finish after SIGTERM, Ctrl-C or a closed terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended, runs, until

PATIENT = """

import asyncio
import time
from pathlib import Path

@app.task(role="sums", max_attempts=1)
async def wait_for_file() -> int:
    Path("begun").touch()
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return 1

@app.task(role="sums", max_attempts=1)
async def block_loop() -> int:
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.2)
    return 1
"""
# In the process of the API, the exception that SIGTERM raises during the import is suppressed.
DEAF = """

import os, sys, time
from contextlib import suppress
from pathlib import Path

if "serve" in sys.argv:
    Path("api.pid").write_text(str(os.getpid()))
    with suppress(BaseException):
        time.sleep(60)
"""
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def shop(folder: Path) -> Path:
    (folder / "shop.py").write_text((folder / "shop.py").read_text() + PATIENT)
    return folder


def begun(cli: Run, shop: Path, handler: str = "wait_for_file") -> int:
    """A task that runs until there is a file `go`."""
    task_id = int(cli("enqueue", handler, "--role", "sums", "--json").json["id"])
    until((shop / "begun").exists, "the handler begins")
    return task_id


def state_of(cli: Run, task_id: int) -> str:
    return str(cli("tasks", "show", task_id, "--json").json["task"]["state"])


def listening(cli: Run, workers: int = 1) -> None:
    until(lambda: len(cli("workers", "list", "--json").json) == workers, "the workers are registered")


def read_until(process: subprocess.Popen[str], text: str) -> None:
    """Read the log up to a line with this text."""
    assert process.stderr is not None
    assert any(text in line for line in process.stderr), f"not written: {text}"


@pytest.mark.parametrize("number", STOPS, ids=lambda number: number.name)
def test_stopped_worker_lets_its_task_finish_and_exits_with_code_0(
    spawn: Spawn, cli: Run, dsn: str, shop: Path, number: signal.Signals
) -> None:
    worker = spawn("worker", "--app", "shop:app", DATABASE_URL=dsn)
    listening(cli)
    task_id = begun(cli, shop)

    worker.send_signal(number)
    read_until(worker, f"{number.name}: stopping, running tasks may finish")
    (shop / "go").touch()
    stopped = ended(worker)

    assert stopped.code == 0, stopped.err
    assert state_of(cli, task_id) == "completed"


@pytest.mark.parametrize("number", STOPS, ids=lambda number: number.name)
def test_stopped_worker_names_the_line_that_blocks_its_loop_and_waits(
    spawn: Spawn, cli: Run, dsn: str, shop: Path, number: signal.Signals
) -> None:
    lines = (shop / "shop.py").read_text().splitlines()
    line = f"{shop / 'shop.py'}:{lines.index('        time.sleep(0.2)') + 1} in block_loop"
    worker = spawn("worker", "--app", "shop:app", DATABASE_URL=dsn)
    listening(cli)
    task_id = begun(cli, shop, "block_loop")

    worker.send_signal(number)
    read_until(worker, f"{number.name}: stopping when block_loop returns, which blocks the event loop at {line}")
    (shop / "go").touch()
    stopped = ended(worker)

    assert stopped.code == 0, stopped.err
    assert state_of(cli, task_id) == "completed"


def test_second_signal_ends_a_worker_with_a_blocked_loop(spawn: Spawn, cli: Run, dsn: str, shop: Path) -> None:
    worker = spawn("worker", "--app", "shop:app", DATABASE_URL=dsn)
    listening(cli)
    begun(cli, shop, "block_loop")

    worker.send_signal(signal.SIGINT)
    read_until(worker, "SIGINT: stopping when block_loop returns")
    worker.send_signal(signal.SIGINT)

    assert ended(worker).code == 128 + signal.SIGINT


def test_signalled_process_group_lets_its_tasks_finish(
    launch: Callable[..., subprocess.Popen[str]], cli: Run, dsn: str, shop: Path
) -> None:
    command = ("setsid", sys.executable, "-m", "rolecall", "worker", "--app", "shop:app", "--processes", "2")
    workers = launch(*command, DATABASE_URL=dsn)
    listening(cli, 2)
    task_id = begun(cli, shop)

    os.killpg(workers.pid, signal.SIGHUP)
    read_until(workers, "has stopped")
    (shop / "go").touch()
    stopped = ended(workers)

    assert stopped.code == 0, stopped.err
    assert state_of(cli, task_id) == "completed"


def test_worker_started_with_nohup_outlives_its_terminal(
    launch: Callable[..., subprocess.Popen[str]], cli: Run, dsn: str, shop: Path
) -> None:
    worker = launch("nohup", sys.executable, "-m", "rolecall", "worker", "--app", "shop:app", DATABASE_URL=dsn)
    listening(cli)

    worker.send_signal(signal.SIGHUP)

    assert cli("enqueue", "add", '{"a": 1, "b": 2}', "--wait", "60", "--json").json["task"]["result"] == 3
    worker.send_signal(signal.SIGTERM)
    assert ended(worker).code == 0


def test_up_exits_cleanly_when_its_terminal_is_closed(spawn: Spawn, shop: Path) -> None:
    up = spawn("up", "--app", "shop:app", "--json", ROLECALL_HTTP="127.0.0.1:0")
    document(up)

    up.send_signal(signal.SIGHUP)
    stopped = ended(up)

    assert stopped.code == 0, stopped.err
    assert not list(shop.glob("rolecall-data/postgres/data-*/postmaster.pid"))


def test_api_that_does_not_hear_sigterm_ends_after_its_parent(spawn: Spawn, dsn: str, folder: Path) -> None:
    with (folder / "shop.py").open("a") as shop:
        shop.write(DEAF)
    up = spawn("up", "--app", "shop:app", DATABASE_URL=dsn, ROLECALL_HTTP="127.0.0.1:0")
    until(lambda: (folder / "api.pid").exists() and (folder / "api.pid").read_text() != "", "the API starts")
    api = int((folder / "api.pid").read_text())

    up.kill()

    until(lambda: not runs(api), "the API has ended")


def test_server_exits_cleanly_when_its_terminal_is_closed(spawn: Spawn, dsn: str, folder: Path) -> None:
    server = spawn("serve", "--port", "0", "--json", DATABASE_URL=dsn)
    document(server)

    server.send_signal(signal.SIGHUP)

    assert ended(server).code == 0


def test_other_command_exits_with_the_code_of_the_signal(spawn: Spawn, cli: Run, dsn: str) -> None:
    waiting = spawn("enqueue", "add", '{"a": 1, "b": 2}', "--wait", "60", DATABASE_URL=dsn)
    until(lambda: "add" in cli("tasks", "list").out, "it waits for its task")

    waiting.send_signal(signal.SIGHUP)

    assert ended(waiting).code == 128 + signal.SIGHUP
