"""The demo's child processes: started with it, restarted when they stop, and never left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TypedDict

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 30.0
NICENESS = 10
RESTART_SECONDS = 1.0
EARLY_DEATH_SECONDS = 5.0
MOST_EARLY_DEATHS = 5
LAST_WORDS_BYTES = 4_096


class KeepsExiting(RuntimeError):
    """A command ends each time as soon as it is started."""

    def __init__(self, log: Path) -> None:
        super().__init__(f"a process of the demo keeps exiting; the end of {log}: {last_line(log)}")


class ChildOptions(TypedDict, total=False):
    """Options of a child process, see ChildProcess."""

    nice: bool
    descriptors: Sequence[int]


class ChildProcess:
    """A command that runs as long as the demo does and logs to a file.

    On Linux, the kernel ends it when the demo is killed. A `nice` process only uses the CPU that others leave. It
    inherits the open files `descriptors`.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        log: Path,
        nice: bool = False,
        descriptors: Sequence[int] = (),
    ) -> None:
        self._command = [sys.executable, *command]
        self._environment = {**os.environ, **environment}
        self._log = log
        self._nice = nice
        self._descriptors = descriptors
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._early_deaths = 0
        self._stop_requested = False

    def keep_running(self) -> None:
        """Start the command unless it is running, at most once a second. Raises KeepsDying."""
        if self._process is not None and self._process.poll() is None:
            return
        age = time.monotonic() - self._started_at
        if self._process is not None and age < RESTART_SECONDS:
            return
        self._count_death(age)
        with self._log.open("ab") as log:
            self._process = self._spawn(log)
        if self._nice:
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)
        self._stop_requested = False
        self._started_at = time.monotonic()

    def request_stop(self) -> None:
        """Send the stop signal once: after a second one, a worker would abandon its tasks."""
        if self._process is not None and not self._stop_requested:
            self._stop_requested = True
            self._process.terminate()

    def stop(self) -> None:
        """Stop the process, and kill it after half a minute or when the wait is interrupted."""
        if self._process is None:
            return
        self.request_stop()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _count_death(self, age: float) -> None:
        early = self._process is not None and age < EARLY_DEATH_SECONDS
        self._early_deaths = self._early_deaths + 1 if early else 0
        if self._early_deaths >= MOST_EARLY_DEATHS:
            raise KeepsExiting(self._log)

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=self._descriptors,
            # A Ctrl-C in the terminal is for the demo only, which then stops its children in order.
            start_new_session=True,
            preexec_fn=_following_parent(),  # noqa: PLW1509 - the demo has no threads
        )


def last_line(log: Path) -> str:
    """Return the last nonblank line of a log."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LAST_WORDS_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"


def _following_parent() -> Callable[[], None] | None:
    """Return a function that makes a child end with this process; None if the kernel has no such feature."""
    if sys.platform != "linux":
        return None
    # All lookups happen here: between fork and exec a child must not import or allocate much.
    return partial(_follow_parent, ctypes.CDLL(None).prctl, os.getpid())


def _follow_parent(prctl: Callable[[int, int], int], parent: int) -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # If the parent was killed before the line above, that signal never comes.
    if os.getppid() != parent:
        os._exit(1)
