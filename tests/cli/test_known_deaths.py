"""Killed workers: with a proof of death, their tasks run again in a twentieth of a lease instead of after one."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended, until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

LONG = """
@app.task(role="long", lease={lease})
async def linger() -> int:
    import asyncio
    from pathlib import Path
    Path("begun").open("a").write(".")
    while not Path("end").exists():
        await asyncio.sleep(0.05)
    return 1
"""
LEASE = 60.0
SHARE = 20
RUNNING = (
    "select worker_id, pid from rolecall.tasks join rolecall.workers on worker_id = workers.id where state = 'running'"
)

Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def lingering(folder: Path) -> Path:
    """An app with a task that lasts until the test ends it."""
    with (folder / "shop.py").open("a") as shop:
        shop.write(LONG.format(lease=LEASE))
    return folder


def runner(sql: Ask) -> tuple[int, int]:
    """Return the worker that runs the task, with its process."""
    until(lambda: len(sql(RUNNING)) == 1, "the task runs")
    [(worker_id, pid)] = sql(RUNNING)
    return worker_id, pid


def kill_and_wait(pid: int, worker_id: int, sql: Ask) -> float:
    """Kill a worker; return the fraction of a lease after which its task runs again."""
    os.kill(pid, signal.SIGKILL)
    killed_at = time.monotonic()
    until(lambda: [each for each, _ in sql(RUNNING)] not in ([], [worker_id]), "another worker runs it")
    return (time.monotonic() - killed_at) / LEASE


def test_task_of_a_killed_up_process_is_rescued_immediately(
    spawn: Spawn, cli: Run, sql: Ask, dsn: str, lingering: Path
) -> None:
    up = spawn("up", "--app", "shop:app", "--processes", "2", "--json", DATABASE_URL=dsn)
    document(up)
    until(lambda: len(cli("workers", "list", "--json").json) == 2, "the workers are registered")
    task_id = cli("enqueue", "linger", "--json").json["id"]
    worker_id, pid = runner(sql)

    share = kill_and_wait(pid, worker_id, sql)

    assert share < 1 / SHARE
    assert worker_id not in [each["id"] for each in cli("workers", "list", "--json").json]
    (lingering / "end").touch()
    until(lambda: "completed" in cli("tasks", "show", task_id).out, "the task completes")
    assert (lingering / "begun").read_text() == ".."
    until(lambda: len(cli("workers", "list", "--json").json) == 2, "another process has taken its place")
    up.send_signal(signal.SIGTERM)
    stopped = ended(up)
    assert stopped.code == 0
    assert f"Worker {worker_id} is dead, because its process has ended: rescued 1 pending" in stopped.err


def test_next_worker_on_a_machine_takes_over_at_startup(
    spawn: Spawn, cli: Run, sql: Ask, dsn: str, lingering: Path
) -> None:
    first = spawn("worker", "--app", "shop:app", DATABASE_URL=dsn)
    until(lambda: len(cli("workers", "list", "--json").json) == 1, "the worker is registered")
    cli("enqueue", "linger")
    worker_id, pid = runner(sql)
    assert pid == first.pid
    first.kill()
    first.wait()

    second = spawn("worker", "--app", "shop:app", DATABASE_URL=dsn)
    until(lambda: len(sql("select id from rolecall.workers")) == 2, "the second is registered")
    began = time.monotonic()
    until(lambda: [each for each, _ in sql(RUNNING)] not in ([], [worker_id]), "the second runs it")

    assert (time.monotonic() - began) / LEASE < 1 / SHARE
    (lingering / "end").touch()
    until(lambda: bool(sql("select id from rolecall.finished_tasks")), "the task completes")
    second.send_signal(signal.SIGTERM)
    assert ended(second).code == 0
