"""Keys: at most as many running tasks of one key as its capacity, without blocking other tasks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine, report
from tests.sql.invariants import check


def claimed(engine: Engine, limit: int) -> list[int]:
    return [claim.id for claim in engine.claim(limit)]


def test_one_task_of_a_key_runs_at_a_time(engine: Engine) -> None:
    first, second = (engine.enqueue(key="store") for _ in range(2))
    [claim] = engine.claim(5)
    assert claim.id == first
    assert claimed(engine, 5) == []

    engine.complete(claim)

    assert claimed(engine, 5) == [second]


def test_second_running_task_of_a_key_violates_a_unique_index(engine: Engine) -> None:
    engine.enqueue(key="store")
    engine.claim_one()
    waiting = engine.enqueue(key="store")

    with pytest.raises(psycopg.errors.UniqueViolation, match="places_of_keys"):
        engine.rows(
            "update rolecall.tasks set state = 'running', key_slot = 1, worker_id = 1, fence = 1, attempt = 1, "
            "claimed_at = created_at, lease_until = created_at, deadline_at = created_at where id = %s",
            waiting,
        )


def test_tasks_with_and_without_a_key_do_not_block_each_other(engine: Engine) -> None:
    store, free = engine.enqueue(key="store"), engine.enqueue()
    assert claimed(engine, 1) == [store]
    assert claimed(engine, 1) == [free]
    more_free, other_store = engine.enqueue(), engine.enqueue(key="other")

    assert claimed(engine, 5) == [more_free, other_store]


def test_tasks_of_different_keys_run_concurrently(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": str(n % 10)} for n in range(50)])

    assert [claim.key for claim in engine.claim(50)] == [str(n) for n in range(10)]


def test_tasks_of_a_key_run_in_claim_order(engine: Engine) -> None:
    low, normal, high, later = (engine.enqueue(key="k", priority=p) for p in (-1, 0, 1, 0))

    order = []
    for claim in iter(lambda: next(iter(engine.claim(5)), None), None):
        order.append(claim.id)
        engine.complete(claim)

    assert order == [high, normal, later, low]


def test_later_task_of_higher_priority_runs_before_an_unparked_one(engine: Engine) -> None:
    engine.enqueue(key="k")
    holder = engine.claim_one()
    head = engine.enqueue(key="k")
    assert claimed(engine, 5) == []
    engine.complete(holder)
    assert engine.task(head).status == "ready"
    urgent = engine.enqueue(key="k", priority=1)

    assert claimed(engine, 5) == [urgent]


def test_key_applies_across_roles(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue(key="store")
    engine.enqueue("other", key="store")

    assert len(engine.claim(5)) == 1


def test_key_with_capacity_two_runs_two_tasks(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('api', 2)")
    ids, _ = engine.enqueue_many([{"role": "work", "key": "api"}] * 5)
    worker = engine.worker()
    claims = engine.claim(5, worker=worker)
    assert [claim.id for claim in claims] == ids[:2]
    assert claimed(engine, 5) == []

    engine.finish(worker, *(report(claim, "completed") for claim in claims))

    assert claimed(engine, 5) == ids[2:4]


def test_permits_freed_together_are_all_taken_again(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('api', 4)")
    ids, _ = engine.enqueue_many([{"role": "work", "key": "api"}] * 9)
    worker = engine.worker()
    claims = engine.claim(9, worker=worker)
    engine.claim(9)

    engine.finish(worker, *(report(claim, "completed") for claim in claims))

    assert [claim.id for _ in range(5) for claim in engine.claim(1)] == ids[4:8]


def test_one_freed_permit_of_a_key_with_capacity_two_admits_one_task(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('api', 2)")
    ids, _ = engine.enqueue_many([{"role": "work", "key": "api"}] * 4)
    first, second = engine.claim(5)
    claimed(engine, 5)

    engine.complete(second)
    assert claimed(engine, 5) == [ids[2]]
    engine.complete(first)
    assert claimed(engine, 5) == [ids[3]]


def test_increased_capacity_is_used_by_the_next_claim(engine: Engine) -> None:
    engine.enqueue(key="api")
    engine.claim_one()
    engine.rows("update rolecall.keys set capacity = 2 where key = 'api'")
    second = engine.enqueue(key="api")

    assert claimed(engine, 5) == [second]


def test_reduced_capacity_applies_after_running_tasks_finish(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('api', 2)")
    ids, _ = engine.enqueue_many([{"role": "work", "key": "api"}] * 3)
    first, second = engine.claim(5)
    engine.rows("update rolecall.keys set capacity = 1 where key = 'api'")

    engine.complete(first)
    assert claimed(engine, 5) == []
    engine.complete(second)
    assert claimed(engine, 5) == [ids[2]]


def test_thousand_tasks_of_a_busy_key_do_not_block_the_task_behind(engine: Engine) -> None:
    """The very first claim must not be blocked."""
    engine.enqueue(key="busy")
    engine.claim_one()
    engine.enqueue_many([{"role": "work", "key": "busy"}] * 1000)
    free = engine.enqueue()

    assert claimed(engine, 1) == [free]
    assert claimed(engine, 1) == []


def test_two_workers_run_a_thousand_tasks_of_one_key_one_by_one(engine: Engine, session: Session) -> None:
    engine.enqueue_many([{"role": "work", "key": "store"}] * 1000)
    active = "select count(*) from rolecall.tasks where state = 'running'"

    def work(own: Engine) -> int:
        worker, done = own.worker(), 0
        while own.value("select exists (select from rolecall.tasks)"):
            for claim in own.claim(2, worker=worker, handlers=["work"]):
                assert own.value(active) == 1
                assert own.complete(claim) is None
                done += 1
        return done

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(work, [session(), session()]))

    assert sum(done) == 1000
    assert {task.state for task in engine.tasks()} == {"completed"}
    check(engine)
