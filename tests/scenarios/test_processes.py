"""Programs with handlers in processes of their own, run and killed as programs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from rolecall import NewTask
from tests.scenarios.victims import REPOSITORY, ended
from tests.worker.bench import Bench, until

# Started as a script, the module of its handlers is `__main__`, which no other process has.
PROGRAM = """\
from __future__ import annotations

import asyncio, os
from rolecall import App, Worker, WorkerOptions
from tests.worker import crunching

app = App("program")
app.task(process=True)(crunching.grind)

@app.task(process=True, max_attempts=1)
def here(n: int) -> dict[str, int]:
    return {"n": n, "pid": os.getpid()}

def work() -> None:
    asyncio.run(Worker(app, os.environ["DSN"], WorkerOptions(maintenance=False)).run())

"""
GUARDED = f'{PROGRAM}if __name__ == "__main__":\n    work()\n'
UNGUARDED = f"{PROGRAM}work()\n"


@contextmanager
def running(bench: Bench, folder: Path, program: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker program for the block; at its end it is killed if it still lives."""
    (folder / "program.py").write_text(program)
    path = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
    environment = os.environ | {"DSN": bench.dsn, "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, *(words or ["program.py"])], cwd=folder, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def here(bench: Bench) -> NewTask:
    """Declare the program's own handler, as its worker will, and make a task of it."""

    @bench.app.task(max_attempts=1)
    def here(n: int) -> None: ...

    return here.task(n=1)


def grind(bench: Bench, folder: Path) -> NewTask:
    @bench.app.task
    def grind(folder: str) -> None: ...

    return grind.task(folder=str(folder))


async def test_killed_worker_leaves_no_busy_process_behind(bench: Bench, tmp_path: Path) -> None:
    (task_id,) = bench.enqueue(grind(bench, tmp_path))

    with running(bench, tmp_path, GUARDED) as worker:
        await until((tmp_path / "begun-1").exists)
        pid = int((tmp_path / "begun-1").read_text())
        assert psutil.pid_exists(pid)
        worker.kill()
        await ended(worker)
        await until(lambda: not psutil.pid_exists(pid))

    assert bench.task(task_id).state == "running"


async def test_killed_worker_leaves_no_idle_process_behind(bench: Bench, tmp_path: Path) -> None:
    (task_id,) = bench.enqueue(here(bench))

    with running(bench, tmp_path, GUARDED) as worker:
        (task,) = await bench.finished(task_id)
        worker.kill()
        await ended(worker)
        await until(lambda: not psutil.pid_exists(task.result["pid"]))


async def test_handlers_of_a_script_are_found_without_running_its_main_part(bench: Bench, tmp_path: Path) -> None:
    (task_id,) = bench.enqueue(here(bench))

    with running(bench, tmp_path, GUARDED) as worker:
        (task,) = await bench.finished(task_id)

    assert (task.result["n"], task.result["pid"] != worker.pid) == (1, True)
    assert bench.ask("select count(*) from rolecall.workers") == 1


async def test_handlers_of_a_module_run_as_main_are_found_by_its_name(bench: Bench, tmp_path: Path) -> None:
    (task_id,) = bench.enqueue(here(bench))

    with running(bench, tmp_path, GUARDED, "-m", "program"):
        (task,) = await bench.finished(task_id)

    assert task.state == "completed"


async def test_script_that_starts_a_worker_on_import_fails_with_advice(bench: Bench, tmp_path: Path) -> None:
    (task_id,) = bench.enqueue(here(bench))

    with running(bench, tmp_path, UNGUARDED):
        (task,) = await bench.finished(task_id)

    assert task.state == "failed"
    assert "put that under if __name__ == '__main__'" in (task.error or "")
    assert bench.ask("select count(*) from rolecall.workers") == 1
