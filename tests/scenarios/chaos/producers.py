"""One producer process: enqueues all kinds of tasks and writes down what was acknowledged.

`python -m tests.scenarios.chaos.producers DSN ACKED SEED`, until SIGTERM.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TextIO, TypeVar

from psycopg_pool import ConnectionPool

from rolecall import Client, DatabaseUnavailable, Need, NewTask
from rolecall.config import LogFormat, LogSettings
from rolecall.db.connect import pool
from rolecall.db.run import translated
from rolecall.model.needs import NeedRule
from rolecall.telemetry import set_up_logging
from tests.scenarios.chaos import lifeline, stacks
from tests.scenarios.chaos.stop import StopSignal
from tests.scenarios.chaos.workload import make_app

T = TypeVar("T")

MOST_OPEN = 150
PAUSE = 0.03
TRY_AGAIN_AFTER = 0.1
POISON_SECONDS = 5.0
COLD_KEYS = 12
RIVALRY, RIVALS = 0.5, 3
FAILURES = 0.04
CANCELLING = 0.02
# How often a task is needed by another; the doomed always are.
HEIRS = 0.08
DOOMED = ("hang", "poison")
RULES: Sequence[NeedRule] = ("fail", "ignore")
# Fails at as many attempts as it has.
HOPELESS = 3
DEADLY = (signal.SIGKILL, signal.SIGSEGV)
# How often each kind of task comes, and which of them may want a key.
WEIGHTS = {
    "note": 40, "settle": 25, "herd": 20, "linger": 5, "grind": 4, "branch": 5, "doze": 4, "hang": 0.4,
    "family": 4, "saga": 4,
}  # fmt: skip
KEYED = {"note": 0.3, "settle": 0.4, "linger": 0.3, "grind": 0.2, "poison": 0.5}
FAILING = ("note", "settle", "herd")


@dataclass(slots=True)
class Producer:
    """Every task carries a dedupe key, so that an enqueue whose answer was lost may be repeated."""

    name: str
    client: Client
    log: TextIO
    chance: random.Random
    stopped: Callable[[float], bool]
    numbers: count[int] = field(default_factory=lambda: count(1))
    poison_at: float = field(default_factory=time.monotonic)

    def run(self, open_tasks: Callable[[], int]) -> None:
        while not self.stopped(PAUSE):
            if open_tasks() < MOST_OPEN:
                for batch in self._rivals() if self.chance.random() < RIVALRY else self._crowd():
                    self._enqueue(batch)

    def _enqueue(self, batch: list[NewTask]) -> None:
        needed = [each for each in batch if each.handler in DOOMED or self.chance.random() < HEIRS]
        batch += [self._heir(Need(each, on_failure=self.chance.choice(RULES))) for each in needed]
        ids = self._store(batch)
        chains = [task_id for each, task_id in zip(batch, ids, strict=True) if each.handler == "saga"]
        if chains:
            # By now the chain may have begun, gone on or ended.
            self._store([self._heir(Need(self.chance.choice(chains), chain=True, on_failure="ignore"))])
        if self.chance.random() < CANCELLING:
            self._insist(partial(self.client.cancel, ids[-1]))

    def _store(self, batch: list[NewTask]) -> list[int]:
        ids = [each.id for each in self._insist(partial(self.client.enqueue_many, batch))]
        self._note("acked", *ids)
        return ids

    def _insist(self, call: Callable[[], T]) -> T:
        """Call until answered: an unanswered call may have taken effect, and may be repeated."""
        while True:
            try:
                return call()
            except DatabaseUnavailable:
                self._note("unanswered")
                time.sleep(TRY_AGAIN_AFTER)

    def _note(self, what: str, *ids: int) -> None:
        print(what, *ids, file=self.log, flush=True)

    def _crowd(self) -> list[list[NewTask]]:
        return [[self._task() for _ in range(self.chance.randint(1, 10))]]

    def _rivals(self) -> list[list[NewTask]]:
        """Make tasks of a key of their own that come one by one, first of all: who is parked in vain stays so."""
        key = f"rivals-{self.name}-{next(self.numbers)}"
        names = [f"{self.name}:{next(self.numbers)}" for _ in range(RIVALS)]
        return [[NewTask(handler="note", key=key, priority=9, dedupe_key=name)] for name in names]

    def _task(self) -> NewTask:
        number = next(self.numbers)
        kind = self._kind()
        payload = self._payload(kind)
        return NewTask(
            handler=kind,
            payload=payload,
            priority=self.chance.randint(-1, 1),
            key=self._key(kind),
            dedupe_key=f"{self.name}:{number}",
            after=self.chance.choice([None, None, None, 0.2, 1.0]),
            max_attempts=HOPELESS if payload.get("fails") == HOPELESS else None,
        )

    def _heir(self, need: Need) -> NewTask:
        return NewTask(handler="heir", needs=[need], dedupe_key=f"{self.name}:{next(self.numbers)}")

    def _kind(self) -> str:
        if time.monotonic() >= self.poison_at:
            self.poison_at = time.monotonic() + POISON_SECONDS
            return "poison"
        return self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]

    def _payload(self, kind: str) -> dict[str, object]:
        if kind == "poison":
            return {"number": self.chance.choice(DEADLY)}
        if kind == "family":
            return {"serial": self.chance.random() < 0.5}
        if kind in FAILING and self.chance.random() < FAILURES:
            return {"fails": self.chance.choice([1, 2, HOPELESS])}
        return {}

    def _key(self, kind: str) -> str | None:
        if self.chance.random() >= KEYED.get(kind, 0):
            return None
        hot = kind in FAILING and self.chance.random() < 0.4
        return "hot" if hot else f"cold-{self.chance.randrange(COLD_KEYS)}"


def counter(connections: ConnectionPool[Any]) -> Callable[[], int]:
    """Return what counts the open tasks; while the database is away there is no room for more."""

    def open_tasks() -> int:
        try:
            with translated(), connections.connection() as connection:
                row = connection.execute("select count(*) from rolecall.tasks").fetchone()
                return int(row[0]) if row else 0
        except DatabaseUnavailable:
            return MOST_OPEN

    return open_tasks


def main(dsn: str, acked: Path, seed: int) -> None:
    stop = StopSignal()
    with pool(dsn, "producer") as connections, acked.open("a") as log:
        client = Client(connections, app=make_app(dsn, 1))
        Producer(acked.stem, client, log, random.Random(seed), stop.comes_within).run(counter(connections))


if __name__ == "__main__":
    lifeline.hold()
    stacks.tell_threads()
    set_up_logging(LogSettings(format=LogFormat.json))
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
