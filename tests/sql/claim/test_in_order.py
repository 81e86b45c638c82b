"""Sequences: several tasks of a key that one worker runs one after another."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from tests.sql.conftest import Session
from tests.sql.engine import Claim, Engine, report

HELD = "select id from rolecall.tasks where key_slot is not null order by id"


@pytest.fixture
def worker(engine: Engine) -> int:
    return engine.worker()


def places(claims: list[Claim]) -> list[tuple[int, int | None]]:
    return [(claim.id, claim.key_slot) for claim in claims]


def test_worker_claims_tasks_of_a_key_in_order_under_one_permit(engine: Engine, worker: int) -> None:
    first, second, third = (engine.enqueue(key="store") for _ in range(3))
    assert places(engine.claim_in_order(worker)) == [(first, 1), (second, -1), (third, -1)]


def test_followers_in_a_sequence_are_prefetched(engine: Engine, worker: int) -> None:
    first, second = (engine.enqueue(key="store") for _ in range(2))
    engine.claim_in_order(worker, start=None)
    assert [engine.task(each).started_at is not None for each in (first, second)] == [True, False]


def test_sequence_has_at_most_the_requested_number_of_tasks(engine: Engine, worker: int) -> None:
    for _ in range(5):
        engine.enqueue(key="store")
    assert len(engine.claim_in_order(worker, run=3)) == 3
    assert engine.claim_in_order(worker, run=3) == []
    assert len(engine.claim_in_order(worker, run=4)) == 0, "tasks met at a full key are parked"


def test_holder_of_a_permit_claims_later_tasks_behind_it(engine: Engine, worker: int) -> None:
    engine.enqueue(key="store")
    engine.claim_in_order(worker)
    later = engine.enqueue(key="store")
    assert places(engine.claim_in_order(worker)) == [(later, -1)]


def test_key_is_held_until_the_last_task_of_a_sequence_has_finished(engine: Engine, worker: int) -> None:
    first, _, third = (engine.enqueue(key="store") for _ in range(3))
    one, two = engine.claim_in_order(worker, run=2)
    assert engine.claim(5) == []

    engine.complete(one)
    assert engine.claim(5) == []

    engine.complete(two)
    assert [claim.id for claim in engine.claim(5)] == [third]
    assert first == one.id


def test_free_permits_of_a_key_are_taken_before_a_sequence_grows(engine: Engine, worker: int) -> None:
    engine.rows("select rolecall.set_key_capacity('store', 2)")
    for _ in range(4):
        engine.enqueue(key="store")
    assert [claim.key_slot for claim in engine.claim_in_order(worker, start=2)] == [1, 2, -1, -2]


@pytest.mark.parametrize("run", [1, 32])
def test_older_locked_task_of_a_key_is_not_overtaken(engine: Engine, session: Session, worker: int, run: int) -> None:
    first, *_ = ids = [engine.enqueue(key="store") for _ in range(3)]
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", first)
        assert engine.claim_in_order(worker, run=run) == []

    assert [claim.id for claim in engine.claim_in_order(worker, run=run)] == ids[:run]


def test_sequence_ends_before_a_locked_task(engine: Engine, session: Session, worker: int) -> None:
    first, second, third, _ = (engine.enqueue(key="store") for _ in range(4))
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", third)
        assert places(engine.claim_in_order(worker)) == [(first, 1), (second, -1)]


def test_key_with_capacity_two_does_not_overtake_a_locked_task(engine: Engine, session: Session, worker: int) -> None:
    engine.rows("select rolecall.set_key_capacity('store', 2)")
    first, second = (engine.enqueue(key="store") for _ in range(2))
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", first)
        assert engine.claim_in_order(worker, start=2) == []

    assert places(engine.claim_in_order(worker, start=2)) == [(first, 1), (second, 2)]


def test_no_task_follows_a_parent_that_waits_for_its_children(engine: Engine, worker: int) -> None:
    engine.enqueue(key="store")
    [parent] = engine.claim_in_order(worker)
    engine.complete(parent, next={"children": [{"role": "work"}]})
    engine.enqueue(key="store")

    assert [claim.key for claim in engine.claim_in_order(worker)] == [None]


def test_no_task_follows_one_that_has_run_for_too_long(engine: Engine, worker: int) -> None:
    engine.enqueue(key="store")
    engine.claim_in_order(worker)
    engine.clock.advance(seconds=0.5)
    engine.enqueue(key="store")

    assert engine.claim_in_order(worker) == []


def test_no_task_of_lower_priority_follows(engine: Engine, worker: int) -> None:
    low, high = engine.enqueue(key="store"), engine.enqueue(key="store", priority=1)
    assert places(engine.claim_in_order(worker)) == [(high, 1)]
    assert engine.task(low).state == "pending"


def test_single_attempt_task_does_not_follow_in_a_sequence(engine: Engine, worker: int) -> None:
    first, _ = engine.enqueue(key="store"), engine.enqueue(key="store", max_attempts=1)
    assert places(engine.claim_in_order(worker, start=5)) == [(first, 1)]


def test_older_single_attempt_task_of_a_key_is_not_overtaken(engine: Engine, worker: int) -> None:
    other = engine.enqueue()
    once, ordinary = engine.enqueue(key="store", max_attempts=1), engine.enqueue(key="store")

    assert [claim.id for claim in engine.claim_in_order(worker, start=1)] == [other]
    assert [claim.id for claim in engine.claim_in_order(worker, start=1)] == [once]
    assert engine.task(ordinary).state == "pending"


def test_returning_an_unstarted_follower_leaves_the_permit_with_the_running_task(engine: Engine, worker: int) -> None:
    first, second = (engine.enqueue(key="store") for _ in range(2))
    _, follower = engine.claim_in_order(worker)
    engine.finish(worker, report(follower, "returned"))

    assert (engine.task(second).state, engine.task(second).attempt) == ("pending", 0)
    assert engine.rows(HELD) == [(first,)]
    assert engine.claim(5) == []


def test_parked_tasks_join_a_sequence(engine: Engine, worker: int) -> None:
    ids = [engine.enqueue(key="store") for _ in range(4)]
    holder = engine.claim_one()
    assert engine.claim(5) == []
    engine.complete(holder)

    assert [claim.id for claim in engine.claim_in_order(worker)] == ids[1:]


def test_tasks_of_one_sequence_count_as_one_holder(engine: Engine, worker: int) -> None:
    first, *_ = (engine.enqueue(key="store") for _ in range(3))
    engine.claim_in_order(worker)
    assert engine.rows("select used, holders from rolecall.keys_now('{store}')") == [(1, [first])]


def test_busy_outcome_delays_later_outcomes_of_the_same_sequence(engine: Engine, session: Session, worker: int) -> None:
    other, first, second = engine.enqueue(), engine.enqueue(key="store"), engine.enqueue(key="store")
    reports = [report(claim, "completed") for claim in engine.claim_in_order(worker)]
    somebody = session()
    with somebody.connection.transaction():
        somebody.rows("select from rolecall.tasks where id = %s for update", first)
        verdicts = dict(engine.rows("select * from rolecall.finish_free(%s, %s)", worker, Jsonb(reports)))

    assert verdicts == {first: "busy", second: "busy"}
    assert engine.task(other).state == "completed"


def test_outcome_waits_for_the_busy_child_before_it_in_the_sequence(
    engine: Engine, session: Session, worker: int
) -> None:
    parent = engine.enqueue()
    [claim] = engine.claim_in_order(worker)
    engine.complete(claim, next={"children": [{"role": "work", "key": "store"}]})
    second = engine.enqueue(key="store")
    claims = engine.claim_in_order(worker)
    assert [claim.id for claim in claims][1:] == [second]

    reports = [report(claim, "completed") for claim in claims]
    somebody = session()
    with somebody.connection.transaction():
        somebody.rows("select from rolecall.tasks where id = %s for update", parent)
        verdicts = dict(engine.rows("select * from rolecall.finish_free(%s, %s)", worker, Jsonb(reports)))

    assert verdicts == {claim.id: "busy" for claim in claims}


def strict(engine: Engine, **handlers: bool) -> None:
    """Declare the role with strict keys, and handlers with the given values."""
    engine.declare(
        {"name": "work", "strict_keys": not handlers},
        handlers=[{"name": name, "role": "work", "strict_keys": is_strict} for name, is_strict in handlers.items()],
    )


def test_strict_key_limits_claims_to_its_capacity(engine: Engine, worker: int) -> None:
    strict(engine)
    engine.rows("select rolecall.set_key_capacity('pair', 2)")
    for key in ("store", "pair"):
        for _ in range(4):
            engine.enqueue(key=key)

    claims = engine.claim_in_order(worker, start=2)
    assert [(claim.key, claim.key_slot) for claim in claims] == [("store", 1), ("pair", 1), ("pair", 2)]
    assert engine.claim_in_order(worker) == [], "tasks of a full key are parked"

    engine.complete(claims[0])
    assert [claim.key for claim in engine.claim_in_order(worker)] == ["store"]


@pytest.mark.parametrize("first", ["careful", "quick"])
def test_strict_and_ordinary_handlers_do_not_share_a_sequence(engine: Engine, first: str) -> None:
    strict(engine, careful=True, quick=False)
    second = "quick" if first == "careful" else "careful"
    ids = [engine.enqueue(key="store", handler=name) for name in (first, second)]
    worker = engine.worker()

    assert [claim.id for claim in engine.claim_in_order(worker)] == ids[:1]
    engine.enqueue(key="store", handler=second)
    assert engine.claim_in_order(worker) == []


def test_handler_can_be_prefetched_although_its_role_has_strict_keys(engine: Engine) -> None:
    strict(engine)
    engine.declare({"name": "work"}, handlers=[{"name": "quick", "role": "work", "strict_keys": False}])
    worker = engine.worker()
    for _ in range(3):
        engine.enqueue(key="store", handler="quick")
    assert [claim.key_slot for claim in engine.claim_in_order(worker)] == [1, -1, -1]
