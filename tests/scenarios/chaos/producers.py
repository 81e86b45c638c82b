"""A producer process: enqueues all kinds of tasks and records the acknowledged calls.

`python -m tests.scenarios.chaos.producers DSN ACKED SEED VERSION`, until SIGTERM.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TextIO, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from rolecall import Client, DatabaseUnavailable, Dedupe, Need, NewTask, merge_fields
from rolecall.config import LogFormat, LogSettings
from rolecall.db.pools import pool
from rolecall.db.run import translating_errors
from rolecall.embedded.process import wait_until
from rolecall.model.errors import DatabaseError
from rolecall.model.tasks import NeedRule
from rolecall.telemetry.logs import set_up_logging
from tests.scenarios.chaos import in_line, lifeline, stacks, steady
from tests.scenarios.chaos.stop import StopSignal
from tests.scenarios.chaos.workload import make_app

T = TypeVar("T")

MOST_OPEN = 150
PAUSE = 0.03
TRY_AGAIN_AFTER = 0.1
POISON_SECONDS = 5.0
COLD_KEYS = 12
# How often a producer enqueues a batch of all kinds, tasks of one key one by one, tasks of one key at once, two tasks
# that are merged, and ordered tasks of its own key.
BATCHES = (0.4, 0.4, 0.1, 0.1, 0.2)
RIVALS, HOLDERS, LINE = 3, 6, 10
# The longest run of the first of some rivals, and the longest wait of the others.
LONGEST_RIVAL, RIVALRY_SECONDS = 0.1, 0.5
PENDING = b"select from rolecall.tasks where dedupe_key = %s and state = 'pending'"
FAILURES = 0.04
CANCELLING = 0.02
# How often another task needs a task. Doomed tasks are always needed.
HEIRS = 0.08
DOOMED = ("hang", "poison")
RULES: Sequence[NeedRule] = ("fail", "ignore")
# Fails at every attempt.
HOPELESS = 3
DEADLY = (signal.SIGKILL, signal.SIGSEGV)
# The weight of each kind of task, and the kinds that may have a key.
WEIGHTS = {
    "note": 40, "settle": 25, "herd": 20, "linger": 5, "grind": 4, "branch": 5, "doze": 4, "hang": 0.4,
    "family": 4, "saga": 4, "insist": 4, "hold": 8, "once": 5, "gather": 6, "latest": 5, "changed": 10, "brief": 6,
    "crunch": 1,
}  # fmt: skip
KEYED = {"note": 0.3, "settle": 0.4, "linger": 0.3, "grind": 0.2, "poison": 0.5}
FAILING = ("note", "settle", "herd")
# The keys of the steady role by capacity. There are many, because a killed worker's keys stay taken for a lease.
STEADY_KEYS = 6
# How often a task is enqueued in the producer's own transaction, and how often such a transaction is rolled back.
ORDERS, UNDOING, UNORDERING = 0.15, 0.1, 0.2
# How often, and for how long, a transaction locks a running ordered task and so delays its outcome.
HOLDING, LONGEST_HOLD = 0.2, 3.0
HOLD = b"select from rolecall.tasks where key like 'line-%' and state = 'running' limit 1 for update skip locked"
# The delay of tasks that are merged or replaced by further ones.
MERGED_AFTER = 1.5
MERGE = Dedupe(mode="merge", merge=merge_fields(numbers="union"))
DEDUPES = {"gather": MERGE, "latest": Dedupe(mode="replace")}
# Another transaction was first.
IN_THE_WAY = ("40001", "40P01", "55P03", "RC090")
REPEATABLE = b"set transaction isolation level repeatable read"
LEVELS = (REPEATABLE, b"set transaction isolation level read committed")
ORDER = b"insert into chaos.orders (name) values (%s) on conflict do nothing returning true"
ORDERED = b"update chaos.orders set task_id = %s where name = %s"


@dataclass(slots=True)
class Producer:
    """Enqueues tasks with dedupe keys, so that an unanswered call can be repeated."""

    name: str
    version: int
    client: Client
    connections: ConnectionPool[Any]
    log: TextIO
    chance: random.Random
    stopped: Callable[[float], bool]
    first_number: int
    numbers: count[int] = field(default_factory=lambda: count(1))
    poison_at: float = field(default_factory=time.monotonic)

    def run(self, open_tasks: Callable[[], int]) -> None:
        while not self.stopped(PAUSE):
            if open_tasks() < MOST_OPEN:
                makers = (self._batch, self._rivals, self._holders, self._twins, self._line)
                for batch in self.chance.choices(makers, BATCHES)[0]():
                    self._enqueue(batch)
                if self.chance.random() < ORDERS:
                    self._order()

    def _enqueue(self, batch: list[NewTask]) -> None:
        needed = [each for each in batch if each.handler in DOOMED or self.chance.random() < HEIRS]
        batch += [self._dependent(Need(each, on_failure=self.chance.choice(RULES))) for each in needed]
        ids = self._store(batch)
        chains = [task_id for each, task_id in zip(batch, ids, strict=True) if each.handler == "saga"]
        if chains:
            # By now, the chain may have started, continued or finished.
            self._store([self._dependent(Need(self.chance.choice(chains), chain=True, on_failure="ignore"))])
        if self.chance.random() < CANCELLING:
            self._retry(partial(self.client.cancel, ids[-1]))
        for each in batch:
            self._note_shared(each)

    def _order(self) -> None:
        """Enqueue in the producer's transaction, along with a row of its own: both or neither must be stored."""
        name = f"order:{self.name}:{next(self.numbers)}"
        level = self.chance.choice(LEVELS)
        while (task_id := self._retry(partial(self._try_to_order, name, level))) is None:
            time.sleep(TRY_AGAIN_AFTER)
        if task_id:
            self._note("acked", task_id)

    def _try_to_order(self, name: str, level: bytes) -> int | None:
        """Return the task's id, 0 if there is nothing to store, None if another transaction was in the way."""
        task_id = 0
        try:
            # If the connection is lost before the rollback, the driver re-raises Rollback.
            with (
                suppress(psycopg.Rollback),
                translating_errors(),
                self.connections.connection() as connection,
                connection.transaction(),
            ):
                connection.execute(level)
                task_id = self._write_order(connection, name)
                if level is not REPEATABLE and self.chance.random() < HOLDING:
                    connection.execute(HOLD)
                    time.sleep(self.chance.uniform(0, LONGEST_HOLD))
                if level is not REPEATABLE and self.chance.random() < UNORDERING:
                    self.client.cancel(task_id - self.chance.randint(1, MOST_OPEN), connection=connection)
                if self.chance.random() < UNDOING:
                    task_id = 0
                    raise psycopg.Rollback
        except DatabaseError as error:
            if error.sqlstate in IN_THE_WAY:
                return None
            raise
        return task_id

    def _write_order(self, connection: psycopg.Connection[Any], name: str) -> int:
        if connection.execute(ORDER, (name,)).fetchone() is None:
            return 0  # an unanswered commit has stored it
        task = NewTask(handler="note", dedupe_key=name, key=self._key("note"))
        (stored,) = self.client.enqueue_many([task], connection=connection)
        connection.execute(ORDERED, (stored.id, name))
        return stored.id

    def _note_shared(self, task: NewTask) -> None:
        if task.handler == "gather":
            self._note("merged", *_numbers(task))
        elif task.handler == "latest":
            self._note("replaced", task.dedupe_key, task.payload["number"])

    def _store(self, batch: list[NewTask]) -> list[int]:
        ids = [each.id for each in self._retry(partial(self.client.enqueue_many, batch))]
        self._note("acked", *ids)
        return ids

    def _retry(self, call: Callable[[], T]) -> T:
        """Repeat the call until it is answered. An unanswered call may have taken effect."""
        while True:
            try:
                return call()
            except DatabaseUnavailable:
                self._note("unanswered")
                time.sleep(TRY_AGAIN_AFTER)

    def _note(self, what: str, *facts: object) -> None:
        print(what, *facts, file=self.log, flush=True)

    def _batch(self) -> list[list[NewTask]]:
        return [[self._task() for _ in range(self.chance.randint(1, 10))]]

    def _rivals(self) -> Iterator[list[NewTask]]:
        """Enqueue tasks of a new key while the first of them runs or ends. Tasks parked by mistake stay parked."""
        key = f"rivals-{self.name}-{next(self.numbers)}"
        payload = {"seconds": self.chance.uniform(0, LONGEST_RIVAL)}
        for _ in range(RIVALS):
            name = f"{self.name}:{next(self.numbers)}"
            yield [NewTask(handler="note", payload=payload, key=key, priority=9, dedupe_key=name)]
            if payload:
                wait_until(lambda: self._has_begun(name), RIVALRY_SECONDS)
                payload = {}

    def _has_begun(self, name: str) -> bool:
        try:
            with translating_errors(), self.connections.connection() as connection:
                return connection.execute(PENDING, (name,)).fetchone() is None
        except DatabaseUnavailable:
            return True

    def _holders(self) -> list[list[NewTask]]:
        """Enqueue tasks that compete for one key. Some keys have a capacity of two."""
        key = self._key("hold")
        names = [f"{self.name}:{next(self.numbers)}" for _ in range(HOLDERS)]
        return [[NewTask(handler="hold", key=key, priority=9, dedupe_key=name) for name in names]]

    def _line(self) -> list[list[NewTask]]:
        """Enqueue tasks of a key that only this producer uses. They run one after another."""
        return [
            [
                NewTask(
                    handler=self.chance.choice(in_line.HANDLERS),
                    key=in_line.KEY.format(self.name),
                    dedupe_key=f"{self.name}:{next(self.numbers)}",
                )
                for _ in range(LINE)
            ]
        ]

    def _twins(self) -> list[list[NewTask]]:
        kind = self.chance.choice(list(DEDUPES))
        return [[self._task(kind)], [self._task(kind)]]

    def _task(self, kind: str = "") -> NewTask:
        number = next(self.numbers)
        kind = kind or self._kind()
        payload = self._payload(kind, number)
        shared = DEDUPES.get(kind)
        return NewTask(
            handler=kind,
            payload=payload,
            priority=self.chance.randint(-1, 1),
            key=self._key(kind),
            dedupe_key=f"{self.name}:shared" if shared else f"{self.name}:{number}",
            dedupe=shared,
            after=MERGED_AFTER if shared else self.chance.choice([None, None, None, 0.2, 1.0]),
            max_attempts=HOPELESS if payload.get("fails") == HOPELESS else None,
        )

    def _dependent(self, need: Need) -> NewTask:
        return NewTask(handler="heir", needs=[need], dedupe_key=f"{self.name}:{next(self.numbers)}")

    def _kind(self) -> str:
        if time.monotonic() >= self.poison_at:
            self.poison_at = time.monotonic() + POISON_SECONDS
            return "poison"
        return self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]

    def _payload(self, kind: str, number: int) -> dict[str, Any]:
        if kind == "gather":
            return {"numbers": [number + self.first_number]}
        if kind == "latest":
            return {"number": number}
        if kind == "changed":
            return {"number": number} | ({"remark": "new"} if self.version > 1 else {})
        if kind == "poison":
            return {"number": self.chance.choice(DEADLY)}
        if kind == "insist":
            return {"times": self.chance.randint(1, 2)}
        if kind == "family":
            return {"serial": self.chance.random() < 0.5}
        if kind in FAILING and self.chance.random() < FAILURES:
            return {"fails": self.chance.choice([1, 2, HOPELESS])}
        return {}

    def _key(self, kind: str) -> str | None:
        if kind == "hold":
            return f"{self.chance.choice(list(steady.CAPACITIES))}-{self.chance.randrange(STEADY_KEYS)}"
        if self.chance.random() >= KEYED.get(kind, 0):
            return None
        hot = kind in FAILING and self.chance.random() < 0.4
        return "hot" if hot else f"cold-{self.chance.randrange(COLD_KEYS)}"


def _numbers(task: NewTask) -> list[int]:
    numbers = task.payload["numbers"]
    assert isinstance(numbers, list)
    return numbers


def counter(connections: ConnectionPool[Any]) -> Callable[[], int]:
    """Return a function that counts the open tasks. Without a database, it returns the limit."""

    def open_tasks() -> int:
        try:
            with translating_errors(), connections.connection() as connection:
                row = connection.execute("select count(*) from rolecall.tasks").fetchone()
                return int(row[0]) if row else 0
        except DatabaseUnavailable:
            return MOST_OPEN

    return open_tasks


def main(dsn: str, acked: Path, seed: int, version: int) -> None:
    stop = StopSignal()
    with pool(dsn, "producer") as connections, acked.open("a") as log:
        producer = Producer(
            name=acked.stem,
            version=version,
            client=Client(connections, app=make_app(version)),
            connections=connections,
            log=log,
            chance=random.Random(seed),
            stopped=stop.comes_within,
            # Dedupe keys are unique to a producer: a merged task records who requested it.
            first_number=int(acked.stem.removeprefix("producer-")) * 1_000_000,
        )
        producer.run(counter(connections))


if __name__ == "__main__":
    lifeline.hold()
    stacks.tell_threads()
    set_up_logging(LogSettings(format=LogFormat.json))
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
