"""One process of the crew: started, signalled, stopped, and asked where it stands if it does not stop."""

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
from rolecall.db.embedded.process import wait_until
from rolecall.model.error_table import exit_code_for
from rolecall.model.errors import DatabaseUnavailable
from tests.scenarios.chaos import ledger, stacks

REPOSITORY = Path(__file__).parents[3]
ANSWER_SECONDS = 2.0
NO_DATABASE = exit_code_for(DatabaseUnavailable("it does not answer"))
# Killed by a fault, by a poison task, at a failpoint; stopped well, or before it could know what a stop is; started without a database.
# A supervisor that is told to stop ends with the worst number of its workers.
SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)
EXPECTED_ENDS = {0, failpoints.EXIT_CODE, NO_DATABASE, *SIGNALS, *(-number for number in SIGNALS)}


@dataclass(frozen=True, slots=True)
class Member:
    """A process with its name; what it says on standard output is where it stands, all else is its log."""

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
        """Start a module of Python as a process that keeps its two files in the folder."""
        ours = {ledger.VARIABLE: str(folder / ledger.NAME), "PYTHONPATH": "src:."}
        said = folder / f"{name}.stacks"
        with (folder / f"{name}.log").open("wb") as log, said.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=REPOSITORY,
                env={**os.environ, **ours, **environment},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=log,
            )
        return cls(name, process, said)

    @property
    def pid(self) -> int:
        return self.process.pid

    def children(self) -> list[psutil.Process]:
        """Return the processes that it has started and that live."""
        try:
            return psutil.Process(self.pid).children()
        except psutil.NoSuchProcess:
            return []

    def odd_end(self) -> str | None:
        """Return what is odd about the way in which it ended."""
        code = self.process.returncode
        return None if code in EXPECTED_ENDS else f"{self} ended with {code}"

    def stops_within(self, seconds: float) -> bool:
        """Wait for its end."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def where_it_stands(self) -> str:
        """Ask it for its stacks: for the threads' at once, and for those of its loop's tasks if that still turns."""
        self.process.send_signal(stacks.ASK)
        wait_until(self._has_answered, ANSWER_SECONDS)
        return self.stacks.read_text() or "(it does not even say where it stands)"

    def end(self) -> None:
        """Kill what still lives."""
        with self.process as process:
            process.kill()

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"

    def _has_answered(self) -> bool:
        before = self.stacks.stat().st_size
        time.sleep(ANSWER_SECONDS / 10)
        return 0 < before == self.stacks.stat().st_size
