from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.worker.bench import PATIENCE, until

SUPERVISED = """
import asyncio, os, signal, sys, time
from pathlib import Path

{at_sigterm}
(Path({folder!r}) / f"{{os.getpid()}}.ran").touch()
{then}
"""
SUPERVISOR = """
import asyncio, logging, sys
from rolecall.worker.supervisor import Command, Supervisor

logging.basicConfig(level="INFO", stream=sys.stderr)
command = Command(name="A child", arguments=[sys.executable, {child!r}])
sys.exit(asyncio.run(Supervisor([command] * 2).run()))
"""
ENDS = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))"
IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
FOR_EVER = "while True: time.sleep(0.05)"


@contextmanager
def supervisor(folder: Path, at_sigterm: str, then: str = FOR_EVER) -> Iterator[subprocess.Popen[bytes]]:
    child, parent = folder / "child.py", folder / "parent.py"
    child.write_text(SUPERVISED.format(folder=str(folder), at_sigterm=at_sigterm, then=then))
    parent.write_text(SUPERVISOR.format(child=str(child)))
    process = subprocess.Popen([sys.executable, str(parent)])
    try:
        yield process
    finally:
        for pid in [*children_of(process), process.pid]:
            _kill(pid)
        process.wait()


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    if process.poll() is not None:
        return []
    return [child.pid for child in psutil.Process(process.pid).children()]


def ran(folder: Path) -> set[int]:
    return {int(path.stem) for path in folder.glob("*.ran")}


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _kill(pid: int) -> None:
    if lives(pid):
        os.kill(pid, signal.SIGKILL)


async def test_dead_process_is_restarted(tmp_path: Path) -> None:
    with supervisor(tmp_path, ENDS) as process:
        await until(lambda: len(ran(tmp_path)) == 2)
        os.kill(children_of(process)[0], signal.SIGKILL)

        await until(lambda: len(ran(tmp_path)) == 3)

        assert len(children_of(process)) == 2


async def test_stop_ends_all_processes_gracefully(tmp_path: Path) -> None:
    with supervisor(tmp_path, ENDS) as process:
        await until(lambda: len(ran(tmp_path)) == 2)

        process.send_signal(signal.SIGTERM)

        assert await asyncio.to_thread(process.wait, PATIENCE) == 0
        assert not any(map(lives, ran(tmp_path)))


async def test_second_stop_kills_the_processes(tmp_path: Path) -> None:
    with supervisor(tmp_path, IGNORES) as process:
        await until(lambda: len(ran(tmp_path)) == 2)
        process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
        assert all(map(lives, ran(tmp_path)))

        async with asyncio.timeout(PATIENCE):
            while process.poll() is None:
                # A signal that arrives before the first is handled is lost.
                process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.5)

        assert process.returncode != 0
        assert not any(map(lives, ran(tmp_path)))


async def test_no_process_outlives_a_killed_supervisor(tmp_path: Path) -> None:
    with supervisor(tmp_path, ENDS) as process:
        await until(lambda: len(ran(tmp_path)) == 2)

        process.kill()

        await until(lambda: not any(map(lives, ran(tmp_path))))


async def test_processes_that_exit_normally_are_not_restarted(tmp_path: Path) -> None:
    with supervisor(tmp_path, ENDS, then="sys.exit(0)") as process:
        assert await asyncio.to_thread(process.wait, 20) == 0

    assert len(ran(tmp_path)) == 2


@pytest.mark.parametrize("at_sigterm", ["", "signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + 15))"])
async def test_process_stopped_during_startup_counts_as_stopped_normally(tmp_path: Path, at_sigterm: str) -> None:
    """It ends by the signal itself, because it has no work to finish yet."""
    with supervisor(tmp_path, at_sigterm) as process:
        await until(lambda: len(ran(tmp_path)) == 2)
        process.send_signal(signal.SIGTERM)

        assert await asyncio.to_thread(process.wait, PATIENCE) == 0
