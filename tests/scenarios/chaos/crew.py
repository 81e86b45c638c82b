"""The worker and producer processes of a soak: started, started again when they die, stopped at the end."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from rolecall.worker import failpoints
from tests.scenarios.chaos.member import Member
from tests.scenarios.chaos.workload import VERSION, VERSIONS

FAILPOINTS = (failpoints.AFTER_CLAIM, failpoints.MID_HANDLER, failpoints.BEFORE_FINISH, failpoints.AFTER_FINISH)
ARMED = 0.25
DETOURED = 0.5
STOP_SECONDS = 60.0
# How many workers a supervisor has, and how.
SUPERVISED = 2
SETTINGS = {
    "ROLECALL_LOG": "json",
    "WORKER_SLOTS": "4",
    "WORKER_GRACE_S": "10",
    "HEARTBEAT_INTERVAL_MS": "1000",
    # A stop that comes before the loop runs leaves its main coroutine alone.
    "PYTHONWARNINGS": "ignore:coroutine:RuntimeWarning",
}


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
        self._supervisors: list[Member] = []
        self._orphans: list[psutil.Process] = []

    @property
    def pids(self) -> list[int]:
        """The processes of the workers."""
        return [worker.pid for worker in self._workers]

    @property
    def supervised(self) -> list[int]:
        """The processes of the supervisors' workers, which all take the detour."""
        return [child.pid for supervisor in self._supervisors for child in supervisor.children()]

    @property
    def producers(self) -> list[int]:
        """The processes of the producers that have enqueued something: where they start slowly, nobody would ever."""
        return [producer.pid for producer in self._producers if self._acked(producer.name).stat().st_size]

    @contextmanager
    def working(self, workers: int, producers: int) -> Iterator[Crew]:
        """Have the processes for the block; what still lives then is killed."""
        try:
            self._producers = [self._produce() for _ in range(producers)]
            self._workers = [self._hire() for _ in range(workers)]
            self._supervisors = [self._supervise()]
            yield self
        finally:
            for member in self._members:
                member.end()

    def tend(self) -> None:
        """Start again what has died."""
        self.deaths += self._replace(self._workers, self._hire)
        self._replace(self._producers, self._produce)
        self._replace(self._supervisors, self._supervise)

    def send(self, pid: int, number: signal.Signals) -> None:
        """Signal one of them, unless it has died by itself."""
        for member in self._members:
            if member.pid == pid:
                member.process.send_signal(number)

    def behead(self) -> int | None:
        """Kill a supervisor whose workers all live, and keep an eye on these; None if there is none."""
        for supervisor in self._supervisors:
            if len(children := supervisor.children()) == SUPERVISED:
                self._orphans += children
                supervisor.process.kill()
                return supervisor.pid
        return None

    def disarm(self) -> None:
        """Give the workers that start from now on no failpoints."""
        self._armed = 0.0

    def stop_producers(self) -> None:
        """Let the producers end, each after the call that it is in."""
        self._stop(self._producers)
        for producer in self._producers:
            producer.end()
        self._producers = []

    def stop_workers(self) -> None:
        """Let the workers finish what they run and end, also those whose supervisor was killed."""
        self._stop([*self._workers, *self._supervisors])
        _, left = psutil.wait_procs(self._orphans, STOP_SECONDS)
        self.odd_ends += [f"process {orphan.pid} has outlived its supervisor" for orphan in left]

    def _replace(self, members: list[Member], start: Callable[[], Member]) -> int:
        dead = [place for place, member in enumerate(members) if member.process.poll() is not None]
        for place in dead:
            self._judge(members[place])
            members[place].end()
            members[place] = start()
        return len(dead)

    def _hire(self) -> Member:
        self._started += 1
        armed = self._chance.random() < self._armed
        failpoint = f"{self._chance.choice(FAILPOINTS)}:{self._chance.randint(5, 60)}" if armed else ""
        detoured = self._chance.random() < DETOURED
        dsn = self._detour if detoured else self._dsn
        worker = self._start(f"worker-{self._started}", "worker", (dsn, self._version()), failpoint)
        if detoured:
            self.detoured.add(worker.pid)
        return worker

    def _produce(self) -> Member:
        self._started += 1
        name = f"producer-{self._started}"
        acked = self._acked(name)
        acked.touch()
        return self._start(
            name, "producers", (self._dsn, str(acked), str(self._chance.getrandbits(32)), self._version())
        )

    def _acked(self, name: str) -> Path:
        return self._folder / f"{name}.acked"

    def _supervise(self) -> Member:
        self._started += 1
        arguments = ("worker", "--app", "tests.scenarios.chaos.program:app", "--processes", str(SUPERVISED))
        settings = SETTINGS | {"DATABASE_URL": self._detour, VERSION: self._version()}
        return Member.start(f"supervisor-{self._started}", self._folder, "rolecall", arguments, settings)

    @property
    def _members(self) -> list[Member]:
        return [*self._workers, *self._producers, *self._supervisors]

    def _version(self) -> str:
        """One of two releases that work side by side, as in the middle of a deploy."""
        return str(VERSIONS[self._started % len(VERSIONS)])

    def _start(self, name: str, module: str, arguments: Sequence[str], failpoint: str = "") -> Member:
        environment = {failpoints.VARIABLE: failpoint}
        return Member.start(name, self._folder, f"tests.scenarios.chaos.{module}", arguments, environment)

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
