"""The worker, producer and API processes of a soak: started, restarted when they die, and stopped at the end."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import psutil

from rolecall.config import failpoints
from tests.scenarios.chaos.callers import API, ASKING
from tests.scenarios.chaos.member import Member
from tests.scenarios.chaos.workload import VERSION, VERSIONS

FAILPOINTS = (
    failpoints.AFTER_TAKE,
    failpoints.AFTER_CLAIM,
    failpoints.MID_HANDLER,
    failpoints.BEFORE_FINISH,
    failpoints.AFTER_FINISH,
    failpoints.BEFORE_ACK,
)
ARMED = 0.25
DETOURED = 0.5
HANDED_OVER_TO = 0.6
STOP_SECONDS = 60.0
# The number and options of a supervisor's workers.
SUPERVISED = 2
APP = ("--app", "tests.scenarios.chaos.program:app")
SETTINGS = {
    "ROLECALL_LOG": "json",
    "WORKER_SLOTS": "4",
    "WORKER_GRACE_S": "10",
    "HEARTBEAT_INTERVAL_MS": "1000",
    "ROLECALL_REQUESTS_PER_MINUTE": "1000000",
    # If the signal arrives before the loop runs, the main coroutine is never started.
    "PYTHONWARNINGS": "ignore:coroutine:RuntimeWarning",
}


class Crew:
    """Keeps a number of workers alive. Some connect through the proxy; some have a failpoint, until `disarm()`.

    `sessions` returns the database's activity, for the report of a process that does not stop.
    """

    def __init__(
        self,
        dsn: str,
        detour: str,
        folder: Path,
        *,
        chance: random.Random,
        sessions: Callable[[], str],
        redis: str | None,
    ) -> None:
        self.unexpected_exits: list[str] = []
        self.deaths = 0
        self.migrated = 0
        self.detoured: set[int] = set()
        self._dsn = dsn
        self._detour = detour
        self._folder = folder
        self._chance = chance
        self._sessions = sessions
        self._redis = redis
        self._armed = ARMED
        self._started = 0
        self._workers: list[Member] = []
        self._producers: list[Member] = []
        self._callers: list[Member] = []
        self._supervisors: list[Member] = []
        self._apis: list[Member] = []
        self._dispatchers: list[Member] = []
        self._migrations: list[Member] = []
        self._answered = 0
        self._orphans: list[psutil.Process] = []

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [worker.pid for worker in self._workers]

    @property
    def supervised(self) -> list[int]:
        """The process ids of the supervisors' workers, which all connect through the proxy."""
        return [child.pid for supervisor in self._supervisors for child in supervisor.children()]

    @property
    def producers(self) -> list[int]:
        """The process ids of the producers that have already enqueued something.

        The others are spared: on a machine where processes start slowly, none would ever enqueue.
        """
        return [each.pid for each in self._enqueuers if self._acked(each.name).stat().st_size]

    @contextmanager
    def working(self, workers: int, producers: int, supervisors: int, callers: int, dispatchers: int) -> Iterator[Crew]:
        """Run the processes during the block, with an API if there are HTTP callers. Kill the remaining ones at its end."""
        try:
            self._producers = [self._produce() for _ in range(producers)]
            self._workers = [self._start_worker() for _ in range(workers)]
            self._supervisors = [self._supervise() for _ in range(supervisors)]
            self._apis = [self._serve()] if callers else []
            self._callers = [self._call() for _ in range(callers)]
            self._dispatchers = [self._dispatch() for _ in range(dispatchers)]
            yield self
        finally:
            for member in self._members:
                member.end()

    def replace_dead(self) -> None:
        """Restart the processes that have died."""
        self.deaths += self._replace(self._workers, self._start_worker)
        self._replace(self._producers, self._produce)
        self._replace(self._callers, self._call)
        self._replace(self._supervisors, self._supervise)
        self._replace(self._apis, self._serve)
        self._replace(self._dispatchers, self._dispatch)
        for migration in [each for each in self._migrations if each.process.poll() is not None]:
            self.migrated += migration.process.returncode == 0
            self._judge(migration)
            migration.end()
            self._migrations.remove(migration)

    def send(self, pid: int, number: signal.Signals) -> None:
        """Send a signal to a process, unless it has exited."""
        for member in self._members:
            if member.pid == pid:
                member.process.send_signal(number)

    def kill_supervisor(self) -> int | None:
        """Kill a supervisor whose workers are all alive, and watch these. Return None if there is none."""
        for supervisor in self._supervisors:
            if len(children := supervisor.children()) == SUPERVISED:
                self._orphans += children
                supervisor.process.kill()
                return supervisor.pid
        return None

    def kill_api(self) -> int | None:
        """Kill the API during a request, once it has enqueued something. Return None if that is not possible."""
        answered = sum(file.read_text().count("acked") for file in self._folder.glob(self._acked("caller-*").name))
        under_way = any(self._acked(caller.name).read_text().endswith(f"{ASKING}\n") for caller in self._callers)
        for api in self._apis:
            if under_way and answered > self._answered:
                self._answered = answered
                api.process.kill()
                return api.pid
        return None

    def kill_dispatcher(self) -> int | None:
        """Kill a dispatcher. Return None if there is none."""
        for dispatcher in self._dispatchers:
            dispatcher.process.kill()
            return dispatcher.pid
        return None

    def migrate(self) -> int:
        """Start a migration of the database to this release."""
        migration = self._command("migration", self._dsn, "migrate")
        self._migrations.append(migration)
        return migration.pid

    def disarm(self) -> None:
        """Start all further workers without failpoints."""
        self._armed = 0.0

    def stop_producers(self) -> None:
        """Stop the producers, each after its current call."""
        self._stop(self._enqueuers)
        for enqueuer in self._enqueuers:
            enqueuer.end()
        self._producers, self._callers = [], []

    def stop_workers(self) -> None:
        """Stop the workers and the API gracefully, including workers whose supervisor was killed."""
        self._stop([*self._workers, *self._supervisors, *self._apis, *self._dispatchers])
        self._await(self._migrations)
        _, left = psutil.wait_procs(self._orphans, STOP_SECONDS)
        self.unexpected_exits += [f"process {orphan.pid} has outlived its supervisor" for orphan in left]

    def _replace(self, members: list[Member], start: Callable[[], Member]) -> int:
        dead = [place for place, member in enumerate(members) if member.process.poll() is not None]
        for place in dead:
            self._judge(members[place])
            members[place].end()
            members[place] = start()
        return len(dead)

    def _start_worker(self) -> Member:
        self._started += 1
        armed = self._chance.random() < self._armed
        failpoint = f"{self._chance.choice(FAILPOINTS)}:{self._chance.randint(5, 60)}" if armed else ""
        detoured = self._chance.random() < DETOURED
        dsn = self._detour if detoured else self._dsn
        handed_over = self._redis is not None and self._chance.random() < HANDED_OVER_TO
        settings = {failpoints.VARIABLE: failpoint, **(self._by_redis if handed_over else {})}
        worker = self._start(f"worker-{self._started}", "worker", (dsn, self._version()), settings)
        if detoured:
            self.detoured.add(worker.pid)
        return worker

    def _produce(self) -> Member:
        return self._enqueue_from("producer", self._dsn, self._version())

    def _call(self) -> Member:
        return self._enqueue_from("caller", str(self._folder))

    def _enqueue_from(self, kind: str, where: str, *more: str) -> Member:
        """Start a process that enqueues, with a file of its own for acknowledged calls."""
        self._started += 1
        name = f"{kind}-{self._started}"
        acked = self._acked(name)
        acked.touch()
        return self._start(name, f"{kind}s", (where, str(acked), str(self._chance.getrandbits(32)), *more))

    def _acked(self, name: str) -> Path:
        return self._folder / f"{name}.acked"

    def _supervise(self) -> Member:
        return self._command("supervisor", self._detour, "worker", *APP, "--processes", str(SUPERVISED))

    def _serve(self) -> Member:
        dsn = self._detour if self._chance.random() < DETOURED else self._dsn
        return self._command(API, dsn, "serve", *APP, "--port", "0", "--json")

    def _dispatch(self) -> Member:
        return self._command("dispatcher", self._dsn, "dispatch")

    @property
    def _by_redis(self) -> dict[str, str]:
        return {} if self._redis is None else {"ROLECALL_REDIS_URL": self._redis}

    def _command(self, name: str, dsn: str, *words: str) -> Member:
        self._started += 1
        settings = SETTINGS | {
            "DATABASE_URL": dsn,
            VERSION: self._version(),
            "ROLECALL_TOKEN_FILE": str(self._folder / "token"),
            **self._by_redis,
        }
        return Member.start(f"{name}-{self._started}", self._folder, "rolecall", words, settings)

    @property
    def _members(self) -> list[Member]:
        return [
            *self._workers,
            *self._enqueuers,
            *self._supervisors,
            *self._apis,
            *self._dispatchers,
            *self._migrations,
        ]

    @property
    def _enqueuers(self) -> list[Member]:
        return [*self._producers, *self._callers]

    def _version(self) -> str:
        """Choose one of two releases that run at the same time, as during a deploy."""
        return str(VERSIONS[self._started % len(VERSIONS)])

    def _start(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> Member:
        return Member.start(name, self._folder, f"tests.scenarios.chaos.{module}", arguments, environment)

    def _stop(self, members: list[Member]) -> None:
        for member in members:
            member.process.terminate()
        self._await(members)

    def _await(self, members: list[Member]) -> None:
        deadline = time.monotonic() + STOP_SECONDS
        for member in members:
            if member.stops_within(max(0.1, deadline - time.monotonic())):
                self._judge(member)
            else:
                self.unexpected_exits.append(self._stuck(member))

    def _judge(self, member: Member) -> None:
        odd = member.unexpected_exit()
        if odd is not None:
            self.unexpected_exits.append(odd)

    def _stuck(self, member: Member) -> str:
        where = f"{member.read_stacks()}\nMeanwhile in the database:\n{self._sessions()}"
        return f"{member} did not stop within {STOP_SECONDS:g} s. Its stacks:\n{where}"
