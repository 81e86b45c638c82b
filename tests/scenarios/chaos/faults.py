"""The faults that hit workers and servers: planned from a seed, and logged as they happen."""

from __future__ import annotations

import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from redis import Redis

from rolecall import DatabaseUnavailable
from tests.brokers import Broker
from tests.scenarios.chaos.crew import Crew
from tests.scenarios.chaos.evidence import FaultRecord
from tests.scenarios.chaos.proxy import Proxy
from tests.scenarios.chaos.server import Server

# The average time between two faults of a kind, in seconds of the soak's own clock.
EVERY = {
    "kill": 2.2, "freeze": 3.0, "cut": 1.3, "lose_answers": 3.0, "delay": 3.0, "stop_worker": 9.0, "crash": 8.0, "kill_producer": 11.0,
    "migrate": 15.0, "kill_supervisor": 9.0, "kill_api": 5.0, "read_only": 9.0, "flush": 4.0, "restart_redis": 8.0,
    "kill_dispatcher": 7.0,
}  # fmt: skip
# Faults of the handoff.
REDIS_FAULTS = ("flush", "restart_redis", "kill_dispatcher")
# Longer than the polling interval of workers.
WITHOUT_REDIS_SECONDS = 2.5
TRY_AGAIN_AFTER = 0.3
# How long a worker or an outcome is held up if no other worker claims the task.
LONGEST_HOLD = 9.0
MOST_HOLDS = 2
LOST_ANSWERS_SECONDS = 1.0
# Longer than a lease: tasks that finish meanwhile are reported only after it.
READ_ONLY_SECONDS = 3.0
# Slow tasks, best first: their claims can be taken over while their worker is frozen.
SLOW_CLAIMS = """\
select worker.pid, array_agg(task.id), array_agg(task.fence)
from rolecall.tasks as task
join rolecall.lines as line on line.id = task.line_id
join rolecall.workers as worker on worker.id = task.worker_id
where task.state = 'running' and line.handler in ('linger', 'grind') and worker.pid = any(%s)
group by worker.pid
order by count(*) desc, worker.pid"""
RUNNING = """\
select task.id
from rolecall.tasks as task
join rolecall.workers as worker on worker.id = task.worker_id
where task.state = 'running' and task.started_at is not null and worker.pid = any(%s)"""
TAKEN_OVER = """\
select 1 from unnest(%s::bigint[], %s::int[]) as claim (id, fence)
join rolecall.tasks as task on task.id = claim.id and task.fence > claim.fence and task.state = 'running'"""
# Only workers of some age are hit: on a machine where processes start slowly, none would ever run a task.
AT_WORK = """\
select pid from rolecall.workers
where pid = any(%s) and stopped_at is null and started_at < clock_timestamp() - interval '1 s'
order by pid"""
BACKENDS = """\
select pid from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:%' and pid <> pg_backend_pid()
order by pid"""


@dataclass(frozen=True, slots=True)
class Hold:
    """A worker that is held up until another one has claimed its tasks, and how to let it continue."""

    pid: int
    ids: list[int]
    fences: list[int]
    until: float
    release: Callable[[], None]


class Plan:
    """Schedules the faults: each kind repeatedly, at its own rate."""

    def __init__(self, chance: random.Random, *, without: Collection[str] = ()) -> None:
        self._chance = chance
        self._next = {kind: every * chance.uniform(0.4, 1.0) for kind, every in EVERY.items() if kind not in without}

    def due(self, now: float) -> list[str]:
        """Return the kinds that are due."""
        return [kind for kind, at in self._next.items() if at <= now]

    def schedule_next(self, kind: str, now: float, *, done: bool) -> None:
        """Schedule the next fault of a kind: soon, if this one was not possible."""
        self._next[kind] = now + (EVERY[kind] * self._chance.uniform(0.6, 1.4) if done else TRY_AGAIN_AFTER)


class Faults:
    """Carries out the planned faults when they are due, and counts them in `done`."""

    def __init__(
        self,
        server: Server,
        proxy: Proxy,
        crew: Crew,
        broker: Broker,
        *,
        chance: random.Random,
        tell: Callable[[str], None],
    ) -> None:
        self.done: Counter[str] = Counter()
        self._server = server
        self._proxy = proxy
        self._crew = crew
        self._broker = broker
        self._chance = chance
        self._tell = tell
        self.record = FaultRecord()
        self._holds: list[Hold] = []
        self._does = {
            "kill": self._kill,
            "freeze": self._freeze,
            "cut": self._cut,
            "lose_answers": self._lose_answers,
            "delay": self._delay,
            "stop_worker": self._stop_worker,
            "crash": self._crash,
            "kill_producer": self._kill_producer,
            "migrate": self._migrate,
            "kill_supervisor": self._kill_supervisor,
            "kill_api": self._kill_api,
            "read_only": self._set_read_only,
            "flush": self._flush,
            "restart_redis": self._restart_redis,
            "kill_dispatcher": self._kill_dispatcher,
        }

    def do(self, kind: str) -> bool:
        """Carry out a fault now. Return false if there is no suitable target, or no database to find one."""
        try:
            result = self._does[kind]()
        except DatabaseUnavailable:
            return False
        if result is None:
            return False
        self.done[kind] += 1
        self._tell(f"{kind}: {result}")
        return True

    def release(self, *, everybody: bool = False) -> None:
        """Let workers continue whose claims were taken over, or that were held up for long enough."""
        for hold in list(self._holds):
            if everybody or time.monotonic() > hold.until or self._is_taken_over(hold):
                self._holds.remove(hold)
                hold.release()

    def _kill(self) -> str | None:
        return self._signal_one(signal.SIGKILL)

    def _stop_worker(self) -> str | None:
        return self._signal_one(signal.SIGTERM)

    def _freeze(self) -> str | None:
        """Stop a worker process."""

        def resume(pid: int, since: float) -> None:
            self._crew.send(pid, signal.SIGCONT)
            self.record.freezes.setdefault(pid, []).append((since, time.monotonic()))

        def stop(pid: int, ids: list[int]) -> Callable[[], None]:
            self.record.stop(pid)
            self._crew.send(pid, signal.SIGSTOP)
            return partial(resume, pid, time.monotonic())

        return self._hold_up(self._running_workers(), stop)

    def _delay(self) -> str | None:
        """Let the outcomes of a worker arrive late."""

        def delay(pid: int, ids: list[int]) -> Callable[[], None]:
            outcome = rf'"id":({"|".join(map(str, ids))}),"fence":\d+,"outcome"'
            return self._proxy.delay_request(re.compile(outcome.encode())).end

        return self._hold_up([pid for pid in self._running_workers() if pid in self._crew.detoured], delay)

    def _hold_up(self, pids: list[int], start: Callable[[int, list[int]], Callable[[], None]]) -> str | None:
        if not pids or len(self._holds) >= MOST_HOLDS:
            return None
        slow = self._server.ask(SLOW_CLAIMS, (pids,))
        if not slow:
            return None
        pid, ids, fences = slow[0]
        self._holds.append(Hold(pid, ids, fences, time.monotonic() + LONGEST_HOLD, start(pid, ids)))
        return f"worker {pid}, which runs {len(ids)} slow tasks"

    def _cut(self) -> str | None:
        backends = [pid for (pid,) in self._server.ask(BACKENDS)]
        victims = self._chance.sample(backends, min(len(backends), self._chance.randint(1, 4)))
        self._server.ask("select pg_terminate_backend(pid) from unnest(%s::int[]) as pid", (victims,))
        return f"{len(victims)} of {len(backends)} connections" if victims else None

    def _lose_answers(self) -> str | None:
        detoured = [pid for pid in self._running_workers() if pid in self._crew.detoured]
        running = self._server.ask(RUNNING, (detoured + self._crew.supervised,))
        if not running:
            return None
        links = self._proxy.lose_answers(LOST_ANSWERS_SECONDS)
        return f"{links} connections that finish {len(running)} tasks, no answer for {LOST_ANSWERS_SECONDS:g} s"

    def _crash(self) -> str | None:
        if not self._server.ask(AT_WORK, (self._running_workers() + self._crew.supervised,)):
            return None
        began = time.monotonic()
        self._server.crash()
        back = time.monotonic()
        self.record.crashes.append((began, back))
        return f"the server, back after {back - began:.1f} s"

    def _set_read_only(self) -> str:
        """Make the database read-only for a while, as providers do when a disk is full."""
        with self._server.read_only():
            time.sleep(READ_ONLY_SECONDS)
        return f"writes, for {READ_ONLY_SECONDS:g} s"

    def _kill_producer(self) -> str | None:
        """Kill a producer during a call."""
        producers = self._crew.producers
        if not producers:
            return None
        victim = self._chance.choice(producers)
        self._crew.send(victim, signal.SIGKILL)
        return f"producer {victim}"

    def _kill_supervisor(self) -> str | None:
        self.record.stop(*self._crew.supervised)
        pid = self._crew.kill_supervisor()
        return None if pid is None else f"supervisor {pid}"

    def _kill_api(self) -> str | None:
        """Kill the API during a request."""
        pid = self._crew.kill_api()
        return None if pid is None else f"API {pid}"

    def _flush(self) -> str:
        """Delete all data in Redis: the dispatched tasks and the registered workers."""
        with Redis(port=self._broker.port) as redis:
            keys = redis.dbsize()
            redis.flushall()
        return f"{keys} keys of Redis"

    def _restart_redis(self) -> str:
        self._broker.kill()
        time.sleep(WITHOUT_REDIS_SECONDS)
        self._broker.start()
        return f"Redis, away for {WITHOUT_REDIS_SECONDS:g} s"

    def _kill_dispatcher(self) -> str | None:
        """Kill a dispatcher while it dispatches."""
        pid = self._crew.kill_dispatcher()
        return None if pid is None else f"dispatcher {pid}"

    def _migrate(self) -> str:
        """Deploy: store all functions again while workers run and their connections are cut."""
        self._server.forget_functions()
        return f"process {self._crew.migrate()}"

    def _signal_one(self, number: signal.Signals) -> str | None:
        at_work = self._at_work()
        if not at_work:
            return None
        victim = self._chance.choice(at_work)
        self.record.stop(victim)
        self._crew.send(victim, number)
        return f"worker {victim}"

    def _running_workers(self) -> list[int]:
        held_up = {hold.pid for hold in self._holds}
        return [pid for pid in self._crew.pids if pid not in held_up]

    def _at_work(self) -> list[int]:
        return [pid for (pid,) in self._server.ask(AT_WORK, (self._running_workers(),))]

    def _is_taken_over(self, hold: Hold) -> bool:
        try:
            return bool(self._server.ask(TAKEN_OVER, (hold.ids, hold.fences)))
        except DatabaseUnavailable:
            return False
