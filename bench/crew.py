"""The worker processes of one measurement, each in a separate session, by which its CPU time is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.processes import cpu_of_sessions, processes

STOP_SECONDS = 3.0


class Crew:
    """Workers that run during the block; whatever they started ends with them."""

    def __init__(self, script: str, number: int, log: Path) -> None:
        self._command = [sys.executable, script, "worker"]
        self._number = number
        self._log = log
        self._workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._workers = [_start(self._command, log.fileno()) for _ in range(self._number)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while self._alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        self._signal(signal.SIGKILL)
        for worker in self._workers:
            worker.wait()

    @property
    def cpu(self) -> float:
        """Return the CPU seconds of the workers and everything they started."""
        return cpu_of_sessions(self._sessions)

    def has_lost_one(self) -> bool:
        """Return whether a worker has exited unexpectedly."""
        return any(worker.poll() is not None for worker in self._workers)

    def last_words(self) -> str:
        """Return the end of the workers' output."""
        return self._log.read_text(errors="replace")[-600:] if self._log.exists() else ""

    @property
    def _sessions(self) -> set[int]:
        return {worker.pid for worker in self._workers}

    def _alive(self) -> list[int]:
        for worker in self._workers:
            worker.poll()
        return [each.pid for each in processes() if each.session in self._sessions]

    def _signal(self, how: signal.Signals) -> None:
        for pid in self._alive():
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                continue


def _start(command: list[str], log: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
