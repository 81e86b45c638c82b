"""The worker and producer processes of a soak: started, started again when they die, stopped at the end."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rolecall.worker import failpoints
from tests.scenarios.chaos.member import Member

FAILPOINTS = (failpoints.AFTER_CLAIM, failpoints.MID_HANDLER, failpoints.BEFORE_FINISH, failpoints.AFTER_FINISH)
ARMED = 0.25
DETOURED = 0.5
STOP_SECONDS = 60.0


class Crew:
    """Keeps so many workers alive; some take the detour, some are armed with a failpoint, until `disarm()`.

    `sessions` tells what the database is doing, for when one does not stop.
    """

    def __init__(
        self, dsn: str, detour: str, folder: Path, *, chance: random.Random, sessions: Callable[[], str]
    ) -> None:
        self.odd_ends: list[str] = []
        self.deaths = 0
        self.detoured: set[int] = set()
        self._dsn = dsn
        self._detour = detour
        self._folder = folder
        self._chance = chance
        self._sessions = sessions
        self._armed = ARMED
        self._started = 0
        self._workers: list[Member] = []
        self._producers: list[Member] = []

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
            for member in [*self._workers, *self._producers]:
                member.end()

    def tend(self) -> None:
        """Start again what has died."""
        for place, worker in enumerate(self._workers):
            if worker.process.poll() is not None:
                self.deaths += 1
                self._judge(worker)
                worker.end()
                self._workers[place] = self._hire()

    def send(self, pid: int, number: signal.Signals) -> None:
        """Signal a worker, unless it has died by itself."""
        for worker in self._workers:
            if worker.pid == pid:
                worker.process.send_signal(number)

    def disarm(self) -> None:
        """Give the workers that start from now on no failpoints."""
        self._armed = 0.0

    def stop_producers(self) -> None:
        """Let the producers end, each after the call that it is in."""
        self._stop(self._producers)

    def stop_workers(self) -> None:
        """Let the workers finish what they run and end."""
        self._stop(self._workers)

    def _hire(self) -> Member:
        self._started += 1
        armed = self._chance.random() < self._armed
        failpoint = f"{self._chance.choice(FAILPOINTS)}:{self._chance.randint(5, 60)}" if armed else ""
        detoured = self._chance.random() < DETOURED
        dsn = self._detour if detoured else self._dsn
        worker = self._start(f"worker-{self._started}", "worker", (dsn, self._dsn), failpoint)
        if detoured:
            self.detoured.add(worker.pid)
        return worker

    def _produce(self, number: int) -> Member:
        acked = self._folder / f"{number}.acked"
        return self._start(
            f"producer-{number}", "producers", (self._dsn, str(acked), str(self._chance.getrandbits(32)))
        )

    def _start(self, name: str, module: str, arguments: Sequence[str], failpoint: str = "") -> Member:
        return Member.start(name, self._folder, f"tests.scenarios.chaos.{module}", arguments, failpoint)

    def _stop(self, members: list[Member]) -> None:
        for member in members:
            member.process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for member in members:
            if member.stops_within(max(0.1, deadline - time.monotonic())):
                self._judge(member)
            else:
                self.odd_ends.append(self._stuck(member))

    def _judge(self, member: Member) -> None:
        odd = member.odd_end()
        if odd is not None:
            self.odd_ends.append(odd)

    def _stuck(self, member: Member) -> str:
        where = f"{member.where_it_stands()}\nMeanwhile in the database:\n{self._sessions()}"
        return f"{member} did not stop within {STOP_SECONDS:g} s. It stands here:\n{where}"
