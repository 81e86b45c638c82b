"""Trees and needs in several concurrent sessions: simultaneous finishes and mixed calls cause no deadlock."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg

from tests.sql.conftest import Session
from tests.sql.engine import Claim, Document, Engine, report
from tests.sql.families import WORK
from tests.sql.invariants import check
from tests.sql.storms import lacks
from tests.sql.test_lock_order import last_deadlock

ROUNDS = 1000
NEED_ROUNDS = 200
SESSIONS = 4
SECONDS = 8.0
RULES = ["fail_parent", "ignore", "cancel_siblings"]


def side_by_side(*runs: Callable[[], object]) -> None:
    """Run the functions concurrently; raise the first error."""
    with ThreadPoolExecutor(len(runs)) as threads:
        for run in [threads.submit(run) for run in runs]:
            run.result()


def test_two_last_children_that_finish_together_complete_their_parent_once(
    live_engine: Engine, session: Session
) -> None:
    """Repeated a thousand times, without maintenance duties that could repair a missed update."""
    live_engine.enqueue_many([WORK] * ROUNDS)
    parents = live_engine.claim(ROUNDS, worker=1)
    live_engine.finish(1, *(report(claim, "completed", next={"children": [WORK, WORK]}) for claim in parents))
    claims: dict[int, list[Claim]] = {}
    for claim in live_engine.claim_all(1).values():
        claims.setdefault(claim.parent_id or 0, []).append(claim)
    start = Barrier(2)

    def end(side: int) -> Callable[[], None]:
        engine = session()

        def run() -> None:
            for pair in claims.values():
                start.wait()
                assert engine.complete(pair[side]) is None

        return run

    side_by_side(end(0), end(1))

    assert len(claims) == ROUNDS
    ended = live_engine.rows("select state::text, count(*) from rolecall.finished_tasks group by 1")
    assert ended == [("completed", 3 * ROUNDS)]
    assert live_engine.rows("select from rolecall.tasks") == []
    assert live_engine.rows("select from rolecall.finished_tasks group by id having count(*) > 1") == []


def test_need_that_finishes_during_enqueue_never_leaves_its_dependent_blocked(
    live_engine: Engine, session: Session
) -> None:
    live_engine.enqueue_many([WORK] * NEED_ROUNDS)
    needed = live_engine.claim_all(1)
    start = Barrier(2)
    ending, enqueuing = session(), session()

    def end() -> None:
        for claim in needed.values():
            start.wait()
            ending.complete(claim)

    def enqueue() -> None:
        for task_id in needed:
            start.wait()
            enqueuing.enqueue(needs=[task_id])

    side_by_side(end, enqueue)

    states = live_engine.rows("select state::text, count(*) from rolecall.all_tasks group by 1 order by 1")
    assert states == [("completed", NEED_ROUNDS), ("pending", NEED_ROUNDS)]


class Busy:
    """One session that grows, finishes, cancels and retries trees, in batches of random order."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine = engine
        self.random = random.Random(seed)
        self.worker = engine.worker()
        self.held: list[Claim] = []
        self.done: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        ends = time.monotonic() + SECONDS
        acts = [self.enqueue, self.claim, self.claim, self.claim, self.finish, self.finish, self.finish, self.operate]
        while time.monotonic() < ends or lacks(self.done, acts):
            act = self.random.choice(acts)
            act()
            self.done[act.__name__] += 1
        self.engine.rows("select rolecall.deregister_worker(%s)", self.worker)
        return self.done

    def enqueue(self) -> None:
        ids, _ = self.engine.enqueue_many([self.task() for _ in range(5)])
        self.engine.enqueue_many(
            [{**self.task(), "needs": [{"chain": task_id, "on_failure": "ignore"}]} for task_id in ids]
        )

    def task(self) -> Document:
        """Return a random task, which is part of a chain or can have children, also from outside."""
        key = self.random.choice([None, None, None, "a", "b"])
        return {"role": "work", "key": key, "payload": {"chain": self.random.random() < 0.3}}

    def child(self) -> Document:
        return {"role": "work", "on_failure": self.random.choice(RULES), "payload": {"chain": False}}

    def claim(self) -> None:
        self.held += self.engine.claim(10, worker=self.worker, handlers=["work"])

    def finish(self) -> None:
        self.random.shuffle(self.held)
        claims, self.held = self.held[:6], self.held[6:]
        self.engine.finish(self.worker, *(self.report(claim) for claim in claims))

    def report(self, claim: Claim) -> Document:
        outcome = self.random.choices(["completed", "failed", "snoozed"], [8, 2, 1])[0]
        next_tasks: Document = {}
        if self.random.random() < (0.2 if claim.parent_id else 0.5):
            if claim.payload["chain"]:
                next_tasks = {"continuation": {**self.task(), "payload": {"chain": True}}}
            else:
                children = [self.child() for _ in range(3)]
                next_tasks = {"children": children, "gathers": bool(claim.id % 2), "serial": claim.id % 3 == 0}
        return report(claim, outcome, after=0, error="x", final=True, next=next_tasks)

    def operate(self) -> None:
        act, which = self.random.choice(
            [
                (self.engine.cancel, "tasks"),
                (self.engine.retry, "finished_tasks where state <> 'completed'"),
                (self.spawn, "tasks where state in ('running', 'waiting') and not (payload -> 'chain')::bool"),
            ]
        )
        act(*(task_id for (task_id,) in self.engine.rows(f"select id from rolecall.{which} order by random() limit 3")))
        self.engine.rescue()

    def spawn(self, *ids: int) -> None:
        for task_id in ids:
            try:
                self.engine.spawn(task_id, self.child())
            except psycopg.Error as refusal:
                assert refusal.sqlstate == "RC044", refusal
                self.done["refused"] += 1


def test_growing_and_finishing_trees_in_several_sessions_never_deadlock(live_engine: Engine, session: Session) -> None:
    workers = [Busy(session(), seed) for seed in range(SESSIONS)]
    with ThreadPoolExecutor(SESSIONS) as threads:
        done = sum(threads.map(Busy.run, workers), Counter[str]())

    check(live_engine)
    live_engine.rows("select pg_stat_clear_snapshot()")
    deadlocks = live_engine.value("select deadlocks from pg_stat_database where datname = current_database()")
    assert deadlocks == 0, last_deadlock(live_engine)
    assert all(done[act] > 10 for act in ("enqueue", "claim", "finish", "operate"))
    drain(live_engine)


def drain(engine: Engine) -> None:
    """Assert that every open task can be finished."""
    while claims := engine.claim_all(1):
        engine.finish(1, *(report(claim, "completed") for claim in claims.values()))
    assert engine.rows("select state, count(*) from rolecall.tasks group by 1") == []
