"""One process of the crew: it is started, signaled and stopped, and writes its stacks if it does not stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import psutil

from rolecall.config import failpoints
from rolecall.embedded.process import wait_until
from rolecall.model.error_table import exit_code_for
from rolecall.model.errors import DatabaseUnavailable
from tests.scenarios.chaos import ledger, stacks

REPOSITORY = Path(__file__).parents[3]
ANSWER_SECONDS = 2.0
NO_DATABASE = exit_code_for(DatabaseUnavailable("it does not answer"))
# Killed by a fault, by a poison task or at a failpoint; stopped in order, or before its signal handlers were installed;
# started without a database. A stopped supervisor exits with the worst exit code of its workers.
SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)
EXPECTED_ENDS = {0, failpoints.EXIT_CODE, NO_DATABASE, *SIGNALS, *(-number for number in SIGNALS)}


@dataclass(frozen=True, slots=True)
class Member:
    """A process with its name. It writes its stacks to standard output, and its log to standard error."""

    name: str
    process: subprocess.Popen[bytes]
    stacks: Path

    @classmethod
    def start(
        cls,
        name: str,
        folder: Path,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> Member:
        """Start a Python module as a process that keeps its two files in the folder."""
        ours = {ledger.VARIABLE: str(folder / ledger.NAME), "PYTHONPATH": "src:."}
        result = folder / f"{name}.stacks"
        with (folder / f"{name}.log").open("wb") as log, result.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=REPOSITORY,
                env={**os.environ, **ours, **environment},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=log,
            )
        return cls(name, process, result)

    @property
    def pid(self) -> int:
        return self.process.pid

    def children(self) -> list[psutil.Process]:
        """Return the living child processes."""
        try:
            return psutil.Process(self.pid).children()
        except psutil.NoSuchProcess:
            return []

    def unexpected_exit(self) -> str | None:
        """Describe an unexpected exit."""
        code = self.process.returncode
        return None if code in EXPECTED_ENDS else f"{self} ended with {code}"

    def stops_within(self, seconds: float) -> bool:
        """Wait for the exit."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def read_stacks(self) -> str:
        """Request the stacks of the threads, and those of the asyncio tasks if the loop still runs."""
        self.process.send_signal(stacks.ASK)
        wait_until(self._has_answered, ANSWER_SECONDS)
        return self.stacks.read_text() or "(it has written no stacks)"

    def end(self) -> None:
        """Kill the process and its children, if they are alive."""
        with self.process as process:
            process.kill()

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"

    def _has_answered(self) -> bool:
        before = self.stacks.stat().st_size
        time.sleep(ANSWER_SECONDS / 10)
        return 0 < before == self.stacks.stat().st_size
