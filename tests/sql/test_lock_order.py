"""Mixed batches from several sessions at once: no deadlock, no error, nothing stuck."""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.sql.conftest import Session
from tests.sql.engine import Claim, Engine, report
from tests.sql.invariants import check
from tests.sql.storms import lacks

SESSIONS = 4
SECONDS = 8.0
KEYS = [None, "a", "b", "c", "d"]
DEDUPE_KEYS = [None, None, None, *"tuvwxyz"]


class Busy:
    """One session that acts as a worker and an operator, in batches of random order."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine = engine
        self.random = random.Random(seed)
        self.worker = engine.worker()
        self.held: list[Claim] = []
        self.done: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        ends = time.monotonic() + SECONDS
        acts = [self.enqueue, self.claim, self.claim, self.finish, self.finish, self.renew, self.operate, self.release]
        while time.monotonic() < ends or lacks(self.done, acts):
            act = self.random.choice(acts)
            act()
            self.done[act.__name__] += 1
        self.engine.rows("select rolecall.deregister_worker(%s)", self.worker)
        return self.done

    def enqueue(self) -> None:
        self.engine.enqueue_many([self.task() for _ in range(10)])

    def task(self) -> dict[str, object]:
        return {
            "role": "work",
            "key": self.random.choice(KEYS),
            "dedupe_key": self.random.choice(DEDUPE_KEYS),
            "priority": self.random.choice([0, 1]),
        }

    def claim(self) -> None:
        self.held += self.engine.claim(10, worker=self.worker, handlers=["work"])

    def finish(self) -> None:
        reports = [
            report(
                claim,
                self.random.choice(["completed", "completed", "failed", "snoozed"]),
                after=0,
                error="x",
                next={"follow_ups": [self.task()]},
            )
            for claim in self.some()
        ]
        self.engine.finish(self.worker, *reports)

    def renew(self) -> None:
        if claims := self.some(keep=True):
            self.engine.renew(*claims)

    def release(self) -> None:
        if claims := self.some():
            self.engine.release(*claims)

    def operate(self) -> None:
        ids = [task_id for (task_id,) in self.engine.rows("select id from rolecall.tasks order by random() limit 6")]
        self.engine.cancel(*ids)
        self.engine.retry(*ids)
        self.engine.rescue()
        self.engine.prune()
        self.engine.rows(
            "select rolecall.set_key_capacity(%s, %s)", self.random.choice("abcd"), self.random.randint(1, 3)
        )
        assert self.engine.value("select ids from rolecall.unpark()") == []

    def some(self, *, keep: bool = False) -> list[Claim]:
        """Take some of the held tasks in random order."""
        self.random.shuffle(self.held)
        taken = self.held[: self.random.randint(1, 10)]
        if not keep:
            del self.held[: len(taken)]
        return taken


def test_mixed_batches_from_several_sessions_never_deadlock(live_engine: Engine, session: Session) -> None:
    """No task is left parked for the unparking duty."""
    live_engine.rows("insert into rolecall.keys (key, capacity) values ('a', 2)")
    workers = [Busy(session(), seed) for seed in range(SESSIONS)]
    with ThreadPoolExecutor(SESSIONS) as threads:
        done = sum(threads.map(Busy.run, workers), Counter[str]())

    assert all(done[act] > 10 for act in ("enqueue", "claim", "finish", "renew", "operate", "release"))
    check(live_engine)
    live_engine.rows("select pg_stat_clear_snapshot()")
    deadlocks = live_engine.value("select deadlocks from pg_stat_database where datname = current_database()")
    assert deadlocks == 0, last_deadlock(live_engine)
    drain(live_engine)


def last_deadlock(engine: Engine) -> str:
    """Return the last deadlock of the server log, because a deadlock of a cancellation is retried without an error."""
    log = engine.value("select pg_read_file(pg_current_logfile())") or ""
    _, found, rest = log.rpartition("detected deadlock")
    return found and found + rest[:5000]


def drain(engine: Engine) -> None:
    """Assert that every open task can be finished."""
    worker = engine.worker()
    for _ in range(10_000):
        claims = engine.claim(50, worker=worker)
        if not claims:
            break
        engine.finish(worker, *(report(claim, "completed") for claim in claims))
    open_tasks = engine.rows("select status, count(*) from rolecall.all_tasks where finished_at is null group by 1")
    assert {status for status, _ in open_tasks} <= {"retrying", "scheduled"}
