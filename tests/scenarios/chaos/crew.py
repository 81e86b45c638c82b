"""The worker and producer processes of a soak: started, started again when they die, stopped at the end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolecall.worker import failpoints

REPOSITORY = Path(__file__).parents[3]
FAILPOINTS = (failpoints.AFTER_CLAIM, failpoints.MID_HANDLER, failpoints.BEFORE_FINISH, failpoints.AFTER_FINISH)
ARMED = 0.25
DETOURED = 0.5
STOP_SECONDS = 60.0
# Killed by a fault, by a poison task, at a failpoint; stopped well, or before it could know what a stop is.
EXPECTED_ENDS = {-signal.SIGKILL, -signal.SIGSEGV, failpoints.EXIT_CODE, 0, -signal.SIGTERM}

Process = subprocess.Popen[bytes]


class Crew:
    """Keeps so many workers alive; some take the detour, some are armed with a failpoint, until `disarm()`."""

    def __init__(self, dsn: str, detour: str, folder: Path, chance: random.Random) -> None:
        self.odd_ends: list[str] = []
        self.deaths = 0
        self.detoured: set[int] = set()
        self._dsn = dsn
        self._detour = detour
        self._folder = folder
        self._chance = chance
        self._armed = ARMED
        self._started = 0
        self._workers: list[Process] = []
        self._producers: list[Process] = []

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers]

    @contextmanager
    def working(self, workers: int, producers: int) -> Iterator[Crew]:
        """Have the processes for the block; what still lives then is killed."""
        try:
            self._producers = [self._produce(number) for number in range(1, producers + 1)]
            self._workers = [self._hire() for _ in range(workers)]
            yield self
        finally:
            for process in [*self._workers, *self._producers]:
                _end(process)

    def tend(self) -> None:
        """Start again what has died."""
        for place, worker in enumerate(self._workers):
            code = worker.poll()
            if code is not None:
                self.deaths += 1
                self._judge(worker, code)
                _end(worker)
                self._workers[place] = self._hire()

    def send(self, pid: int, number: signal.Signals) -> None:
        """Signal a worker, unless it has died by itself."""
        for worker in self._workers:
            if worker.pid == pid:
                worker.send_signal(number)

    def disarm(self) -> None:
        """Give the workers that start from now on no failpoints."""
        self._armed = 0.0

    def stop_producers(self) -> None:
        """Let the producers end, each after the call that it is in."""
        self._stop(self._producers)

    def stop_workers(self) -> None:
        """Let the workers finish what they run and end."""
        self._stop(self._workers)

    def _hire(self) -> Process:
        self._started += 1
        armed = self._chance.random() < self._armed
        failpoint = f"{self._chance.choice(FAILPOINTS)}:{self._chance.randint(5, 60)}" if armed else ""
        detoured = self._chance.random() < DETOURED
        dsn = self._detour if detoured else self._dsn
        worker = self._start(f"worker-{self._started}", "worker", dsn, self._dsn, failpoint=failpoint)
        if detoured:
            self.detoured.add(worker.pid)
        return worker

    def _produce(self, number: int) -> Process:
        acked = self._folder / f"{number}.acked"
        return self._start(f"producer-{number}", "producers", self._dsn, str(acked), str(self._chance.getrandbits(32)))

    def _start(self, name: str, module: str, *arguments: str, failpoint: str = "") -> Process:
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"tests.scenarios.chaos.{module}", *arguments],
                cwd=REPOSITORY,
                env=os.environ | {failpoints.VARIABLE: failpoint, "PYTHONPATH": "src:."},
                stdin=subprocess.PIPE,
                stderr=log,
            )

    def _stop(self, processes: list[Process]) -> None:
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in processes:
            try:
                self._judge(process, process.wait(max(0.1, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                self.odd_ends.append(f"process {process.pid} did not stop within {STOP_SECONDS:g} s")

    def _judge(self, process: Process, code: int) -> None:
        if code not in EXPECTED_ENDS:
            self.odd_ends.append(f"process {process.pid} ended with {code}")


def _end(process: Process) -> None:
    with process:
        process.kill()
