"""Several sessions concurrently run, finish, trigger and delete trees and chains: no error, nothing stuck.

Children are locked before parents, and needs before their dependents. No order of ids satisfies both if one call
finishes several tasks of a graph. A resulting deadlock is retried, as the completer does.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from tests.sql.conftest import Session
from tests.sql.engine import Claim, Engine, report
from tests.sql.invariants import check
from tests.sql.storms import lacks

SESSIONS = 3
SECONDS = 6.0
DEADLOCKS = 3
KEYS = [None, None, "a", "b"]
# Valid results if another session was first.
LATE = {"RC002", "RC003", "RC005", "RC040"}


class Meddler:
    """One session that acts as a worker or an operator, in random order."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine = engine
        self.random = random.Random(seed)
        self.worker = engine.worker()
        self.held: list[Claim] = []
        self.done: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        ends = time.monotonic() + SECONDS
        acts = [self.enqueue, self.claim, self.claim, self.finish, self.finish, self.end, self.delete, self.trigger]
        # The test fails after this number of deadlocks.
        while time.monotonic() < ends or (self.done["deadlocks"] <= DEADLOCKS and lacks(self.done, acts)):
            act = self.random.choice(acts)
            self.done[self.attempt(act)] += 1
        self.engine.rows("select rolecall.deregister_worker(%s)", self.worker)
        return self.done

    def attempt(self, act: Callable[[], None]) -> str:
        """Return the name of the act, or that it must be repeated."""
        try:
            act()
        except psycopg.errors.DeadlockDetected:
            return "deadlocks"
        except psycopg.Error as error:
            assert error.sqlstate in LATE, error
        return act.__name__

    def task(self) -> dict[str, object]:
        return {"role": "work", "key": self.random.choice(KEYS), "after": self.random.choice([0, 0, 60])}

    def enqueue(self) -> None:
        [ids, _] = self.engine.enqueue_many([self.task() for _ in range(4)])
        self.engine.enqueue(needs=[ids[0], {"chain": ids[1]}])

    def claim(self) -> None:
        self.held += self.engine.claim(5, worker=self.worker, handlers=["work"])

    def finish(self) -> None:
        self.random.shuffle(self.held)
        if some := self.held[:4]:
            self.engine.finish(self.worker, *map(self.report, some))
            del self.held[:4]

    def report(self, claim: Claim) -> dict[str, object]:
        # Tasks below a parent have no key, because the parent can hold it.
        children = [{"role": "work"}, {"role": "work", "after": 60}]
        continuation = self.task() if claim.parent_id is None else {"role": "work"}
        following = self.random.choice([None, None, {"continuation": continuation}, {"children": children}])
        return report(claim, self.random.choice(["completed", "completed", "failed"]), error="x", next=following)

    def end(self) -> None:
        ends = [{"id": task_id, "state": self.random.choice(["completed", "failed"])} for task_id in self.some()]
        self.engine.end(*ends)

    def delete(self) -> None:
        self.engine.delete_chains(*self.some(2), cascade=self.random.random() < 0.5)

    def trigger(self) -> None:
        self.engine.rows("select rolecall.trigger(%s)", self.some(1))

    def some(self, number: int = 3) -> list[int]:
        rows = self.engine.rows("select id from rolecall.tasks order by random() limit %s", number)
        return [task_id for (task_id,) in rows]


def test_finishing_from_outside_next_to_workers_leaves_nothing_stuck(live_engine: Engine, session: Session) -> None:
    meddlers = [Meddler(session(), seed) for seed in range(SESSIONS)]
    with ThreadPoolExecutor(SESSIONS) as threads:
        done = sum(threads.map(Meddler.run, meddlers), Counter[str]())

    assert done.pop("deadlocks", 0) <= DEADLOCKS
    assert min(done.values()) > 10
    check(live_engine)
    drain(live_engine)
    assert live_engine.rows("select id, state, open_children, open_needs from rolecall.tasks") == []


def drain(engine: Engine) -> None:
    """Complete all open tasks; trigger those that wait for a retry."""
    worker = engine.worker()
    for _ in range(1_000):
        engine.rows("select rolecall.trigger(array(select id from rolecall.tasks where state = 'pending'))")
        claims = engine.claim(100, worker=worker)
        if not claims:
            break
        engine.finish(worker, *(report(claim, "completed") for claim in claims))
