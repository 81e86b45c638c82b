"""Child processes of the demo: restarted, given up after repeated failures, always ended."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from storecrawl.demo.processes import ChildProcess, KeepsExiting

from .conftest import eventually

SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
FAILURE = "raise SystemExit('the disk is full')"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"


def child(folder: Path, program: str) -> ChildProcess:
    return ChildProcess(["-c", program, str(folder)], environment={}, log=folder / "child.log")


def test_killed_process_is_restarted(tmp_path: Path) -> None:
    sleeper = child(tmp_path, SLEEPER)
    sleeper.keep_running()
    first = eventually(lambda: _find_process(tmp_path))
    first.kill()

    def is_restarted() -> bool:
        sleeper.keep_running()
        second = _find_process(tmp_path)
        return second is not None and second.pid != first.pid

    eventually(is_restarted)
    sleeper.stop()


def test_process_that_keeps_dying_is_abandoned_with_its_last_output(tmp_path: Path) -> None:
    failing = child(tmp_path, FAILURE)

    with pytest.raises(KeepsExiting, match=r"child\.log: the disk is full"):
        eventually(lambda: failing.keep_running())  # noqa: PLW0108 - returns nothing, so it is called again


def test_interrupted_wait_kills_processes_that_ignore_the_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storecrawl.demo.processes.STOP_SECONDS", 0.1)
    deaf = child(tmp_path, DEAF)
    deaf.keep_running()
    process = eventually(lambda: _find_process(tmp_path))
    eventually(lambda: "up" in (tmp_path / "child.log").read_text())

    deaf.stop()

    assert not process.is_running()


def _find_process(folder: Path) -> psutil.Process | None:
    return next((process for process in psutil.Process().children() if _is_for(folder, process)), None)


def _is_for(folder: Path, process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and str(folder) in process.cmdline()
    except psutil.NoSuchProcess:
        return False
