"""The demo's child processes: started with the demo, restarted when they die, never left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 30.0
RESTART_SECONDS = 1.0
EARLY_DEATH_SECONDS = 5.0
MOST_EARLY_DEATHS = 5


class KeepsDying(RuntimeError):
    """A command ends again and again as soon as it is started."""

    def __init__(self, log: Path) -> None:
        super().__init__(f"a process of the demo keeps dying; its last words are in {log}")


class ChildProcess:
    """One command that is to run as long as the demo does; its output goes to a log file.

    On Linux the kernel ends it when the demo is killed, so that a killed demo leaves nothing running.
    """

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], log: Path) -> None:
        self._command = [sys.executable, *command]
        self._environment = {**os.environ, **environment}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._early_deaths = 0

    def __enter__(self) -> Self:
        self.keep_running()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The process id; None before the start."""
        return self._process.pid if self._process else None

    def keep_running(self) -> None:
        """Start the command if it does not run, at most once a second. Raises KeepsDying."""
        if self._process is not None and self._process.poll() is None:
            return
        age = time.monotonic() - self._started
        if self._process is not None and age < RESTART_SECONDS:
            return
        self._count_death(age)
        with self._log.open("ab") as log:
            self._process = self._spawn(log)
        self._started = time.monotonic()

    def stop(self) -> None:
        """Ask the process to end, and kill it when it has not within half a minute."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _count_death(self, age: float) -> None:
        early = self._process is not None and age < EARLY_DEATH_SECONDS
        self._early_deaths = self._early_deaths + 1 if early else 0
        if self._early_deaths >= MOST_EARLY_DEATHS:
            raise KeepsDying(self._log)

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # A Ctrl-C in the terminal is for the demo, which then stops its children in order.
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )


def die_with_parent() -> None:
    """Have the kernel terminate this process when its parent is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
