"""Handlers that fork: a child that comes back into the worker ends, and the worker's connections never notice it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.scenarios.forking import make_app
from tests.scenarios.victims import REPOSITORY
from tests.worker.bench import Bench, until

CAME_BACK = "the child returned into the worker"


@contextmanager
def worker(bench: Bench, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.scenarios.forking", bench.dsn, str(folder)],
            cwd=REPOSITORY,
            env=os.environ | {"PYTHONPATH": "src:."},
            stderr=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def has_gone(folder: Path) -> bool:
    """Say whether the child that a handler has forked has ended, waited for or not."""
    pid = int((folder / "child").read_text())
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("handler", "how"),
    [
        ("careless", "return"),
        ("careless", "raise"),
        ("careless", "exit"),
        ("careless", "await"),
        ("careless_thread", "return"),
        ("careless_thread", "raise"),
        ("careless_thread", "exit"),
        ("careless_process", "return"),
    ],
)
async def test_forked_child_that_returns_to_the_worker_does_no_work(
    bench: Bench, tmp_path: Path, handler: str, how: str
) -> None:
    bench.app = make_app()
    forks = bench.app.handlers[handler].task(how=how, folder=str(tmp_path))
    plain = [bench.app.handlers["plain"].task(n=n) for n in range(100)]
    before = bench.enqueue(*plain[:50])
    (task_id,) = bench.enqueue(forks)
    after = bench.enqueue(*plain[50:])

    with worker(bench, tmp_path) as process:
        forked, *others = await bench.finished(task_id, *before, *after)
        await until(lambda: has_gone(tmp_path))

    assert (forked.state, forked.attempt) == ("completed", 1)
    assert {task.result["pid"] for task in others} == {process.pid}
    assert (forked.result["pid"] == process.pid) is (handler != "careless_process")
    assert CAME_BACK in (tmp_path / "log").read_text()


async def test_forked_child_that_exits_on_its_own_is_not_disturbed(bench: Bench, tmp_path: Path) -> None:
    bench.app = make_app()
    (task_id,) = bench.enqueue(bench.app.handlers["careful"].task(folder=str(tmp_path)))

    with worker(bench, tmp_path):
        (task,) = await bench.finished(task_id)

    assert (task.result, (tmp_path / "worked").exists()) == ({"code": 3}, True)
    assert CAME_BACK not in (tmp_path / "log").read_text()
