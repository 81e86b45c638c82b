"""Claims by id: the claimed tasks, and the reasons for the others."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, Engine, report
from tests.sql.families import spread


def test_named_tasks_are_claimed_in_the_given_order(engine: Engine) -> None:
    first, second, third = (engine.enqueue() for _ in range(3))

    given, verdicts = engine.claim_these(third, first, third, None)

    assert ([claim.id for claim in given], verdicts) == ([third, first], {})
    assert engine.states() == {first: "running", second: "pending", third: "running"}


def test_task_claimed_by_id_equals_one_from_any_claim(engine: Engine) -> None:
    """Columns, lease, deadline, fence and attempt are the same."""
    one, other = (engine.enqueue(key=key, payload={"n": 1}, timeout=90) for key in ("a", "b"))
    worker = engine.worker()
    [by_claim] = engine.claim(1, worker=worker)
    [by_id], _ = engine.claim_these(other, worker=worker)
    assert by_claim.id == one

    def facts(task_id: int) -> tuple[object, ...]:
        task = engine.task(task_id)
        return (
            task.lease_until,
            task.deadline_at,
            task.started_at,
            task.claimed_at,
            task.fence,
            task.attempt,
            task.worker_id,
        )

    assert facts(one) == facts(other)
    assert (by_id.lease_seconds, by_id.timeout_seconds, by_id.payload) == (LEASE, 90, {"n": 1})
    assert engine.complete(by_id) is None


def test_only_single_attempt_tasks_are_started_if_the_worker_reports_starts(engine: Engine) -> None:
    ids = [engine.enqueue(max_attempts=most) for most in (1, 2)]

    given, _ = engine.claim_these(*ids, start=2)

    assert [engine.task(claim.id).started_at is not None for claim in given] == [True, False]


def test_running_and_finished_tasks_are_not_claimed_by_id(engine: Engine) -> None:
    taken, cancelled, unknown = engine.enqueue(), engine.enqueue(), 99
    [claim] = engine.claim(1)
    engine.cancel(taken, cancelled)

    assert engine.claim_these(unknown, cancelled, taken) == (
        [],
        {unknown: "unknown", cancelled: "finished", taken: "taken"},
    )
    engine.complete(claim)
    assert engine.claim_these(taken)[1] == {taken: "finished"}


def test_scheduled_blocked_and_waiting_tasks_are_not_claimed_by_id(engine: Engine) -> None:
    later = engine.enqueue(after=10)
    needed = engine.enqueue()
    blocked = engine.enqueue(needs=[needed])
    parent = engine.enqueue()
    [claim], _ = engine.claim_these(parent)
    spread(engine, claim, {"role": "work"})

    _, verdicts = engine.claim_these(later, blocked, parent)

    assert verdicts == {later: "not due", blocked: "blocked", parent: "waiting"}


def test_worker_claims_by_id_only_tasks_that_it_serves(engine: Engine) -> None:
    engine.declare({"name": "other"}, handlers=[{"name": "newer", "role": "work"}])
    mine, other_role = engine.enqueue(), engine.enqueue("other")
    worker = engine.worker("work")
    other_handler = engine.enqueue(handler="latest")

    given, verdicts = engine.claim_these(mine, other_role, other_handler, worker=worker)

    assert ([claim.id for claim in given], verdicts) == (
        [mine],
        {other_role: "not served", other_handler: "not served"},
    )
    assert engine.claim_these(other_role, worker=worker + 1)[1] == {other_role: "not served"}


def test_paused_role_is_not_claimed_by_id_until_resumed(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.rows("select rolecall.pause_role('work')")
    assert engine.claim_these(task_id) == ([], {task_id: "paused"})

    engine.rows("select rolecall.resume_role('work')")

    assert len(engine.claim_these(task_id)[0]) == 1


def test_incompatible_task_is_not_claimed_by_id_by_the_same_release(engine: Engine) -> None:
    worker = engine.worker()
    engine.rows("select rolecall.tell_intakes(%s, '{old}')", worker)
    task_id = engine.enqueue()
    [claim], _ = engine.claim_these(task_id, worker=worker)
    engine.report(claim, "misfit", error="no such field", intake="old")

    assert engine.claim_these(task_id, worker=worker) == ([], {task_id: "misfit"})
    assert len(engine.claim_these(task_id)[0]) == 1


def test_single_attempt_task_is_claimed_by_id_only_into_a_free_slot(engine: Engine) -> None:
    plain, once = engine.enqueue(), engine.enqueue(max_attempts=1)

    given, verdicts = engine.claim_these(plain, once, start=1)

    assert ([claim.id for claim in given], verdicts) == ([plain], {once: "no free slot"})
    assert len(engine.claim_these(once, start=1)[0]) == 1


def test_full_key_yields_no_claim_by_id_and_parks_the_named_tasks(engine: Engine) -> None:
    first, second, third = (engine.enqueue(key="store") for _ in range(3))

    given, verdicts = engine.claim_these(second, first)

    assert ([claim.id for claim in given], verdicts) == ([first], {second: "key busy"})
    assert [engine.task(task_id).status for task_id in (second, third)] == ["parked", "ready"]
    engine.complete(given[0])
    assert len(engine.claim_these(second)[0]) == 1


def test_permit_goes_to_the_best_task_of_a_key_or_to_none(engine: Engine) -> None:
    first, second = (engine.enqueue(key="store") for _ in range(2))

    assert engine.claim_these(second) == ([], {second: "not first"})
    assert [task.status for task in engine.tasks()] == ["ready", "ready"]
    assert [claim.id for claim in engine.claim(5)] == [first]


def test_better_task_of_a_key_in_an_unserved_role_blocks_nothing(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue("other", key="store")
    mine = engine.enqueue(key="store")

    assert len(engine.claim_these(mine, worker=engine.worker("work"))[0]) == 1


def test_claims_by_id_are_limited_by_the_capacity_of_a_key(engine: Engine) -> None:
    engine.rows("select rolecall.set_key_capacity('store', 2)")
    ids = [engine.enqueue(key="store") for _ in range(4)]

    given, verdicts = engine.claim_these(*ids[:3])

    assert ([claim.id for claim in given], verdicts) == (ids[:2], {ids[2]: "key busy"})


def test_parked_task_is_claimed_by_id_when_its_key_has_capacity(engine: Engine) -> None:
    first, second = (engine.enqueue(key="store") for _ in range(2))
    [claim] = engine.claim(5)
    engine.complete(claim)
    engine.rows("update rolecall.tasks set parked = true")

    assert [claim.id for claim in engine.claim_these(second)[0]] == [second]
    assert engine.state(first) == "completed"


def test_parent_between_two_steps_keeps_its_permit(engine: Engine) -> None:
    parent = engine.enqueue(key="store")
    [claim], _ = engine.claim_these(parent)
    [child] = spread(engine, claim, {"role": "work"}, gathers=True)
    [claim], _ = engine.claim_these(child)
    engine.complete(claim)

    [again], _ = engine.claim_these(parent)

    assert (again.step, again.key) == (1, "store")


def test_locked_task_is_reported_as_busy(engine: Engine, session: Session) -> None:
    free, keyed = engine.enqueue(), engine.enqueue(key="store")
    engine.rows("insert into rolecall.keys (key) values ('store')")
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", free)
        other.rows("select from rolecall.keys for update")

        assert engine.claim_these(free, keyed) == ([], {free: "busy", keyed: "busy"})

    assert len(engine.claim_these(free, keyed)[0]) == 2


def test_claim_by_id_requires_read_committed(engine: Engine) -> None:
    engine.rows("begin isolation level serializable")
    with pytest.raises(psycopg.errors.DatabaseError, match="isolation level"):
        engine.claim_these(1)
    engine.rows("rollback")


def test_hundred_tasks_are_claimed_and_finished_by_id(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work", "key": f"{n % 7}" if n % 2 else None} for n in range(100)])
    worker = engine.worker()
    for _ in range(10):
        given, verdicts = engine.claim_these(*ids, worker=worker)
        assert len(given) + len(verdicts) == len(ids)
        engine.finish(worker, *(report(claim, "completed") for claim in given))

    assert set(engine.states().values()) == {"completed"}
