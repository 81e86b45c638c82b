"""The demo's child processes: started with the demo, restarted when they die, never left behind."""

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


class KeepsDying(RuntimeError):
    """A command ends again and again as soon as it is started."""

    def __init__(self, log: Path) -> None:
        super().__init__(f"a process of the demo keeps dying; the end of {log} says: {last_words(log)}")


class ChildOptions(TypedDict, total=False):
    """How a child differs from the others, see ChildProcess."""

    nice: bool
    descriptors: Sequence[int]


class ChildProcess:
    """One command that is to run as long as the demo does; its output goes to a log file.

    On Linux the kernel ends it when the demo is killed, so that a killed demo leaves nothing running. What is `nice`
    takes the processor only as far as the others leave it. The open files `descriptors` are handed on to it.
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
        self._started = 0.0
        self._early_deaths = 0
        self._asked_to_stop = False

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
        if self._nice:
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)
        self._asked_to_stop = False
        self._started = time.monotonic()

    def ask_to_stop(self) -> None:
        """Ask the process to end, once: asked again, a worker would drop what it is at."""
        if self._process is not None and not self._asked_to_stop:
            self._asked_to_stop = True
            self._process.terminate()

    def stop(self) -> None:
        """End the process: asked to, killed when it has not ended within half a minute or the wait is interrupted."""
        if self._process is None:
            return
        self.ask_to_stop()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

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
            pass_fds=self._descriptors,
            # A Ctrl-C in the terminal is for the demo, which then stops its children in order.
            start_new_session=True,
            preexec_fn=_following_parent(),  # noqa: PLW1509 - the demo has no threads
        )


def last_words(log: Path) -> str:
    """Return the last line of a log that says something."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LAST_WORDS_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"


def _following_parent() -> Callable[[], None] | None:
    """Return what makes a child end with this process; None where the kernel offers nothing like it."""
    if sys.platform != "linux":
        return None
    # Everything is looked up here: between fork and exec a child must not import or allocate much.
    return partial(_follow_parent, ctypes.CDLL(None).prctl, os.getpid())


def _follow_parent(prctl: Callable[[int, int], int], parent: int) -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # A parent that was killed before the line above will never send that signal.
    if os.getppid() != parent:
        os._exit(1)
