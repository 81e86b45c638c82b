"""Tasks claimed only into a free slot: those with a single attempt, and suspects that never started."""

from __future__ import annotations

from itertools import chain

import pytest

from rolecall.worker.in_flight import SUSPECT_FROM
from tests.sql.conftest import Session
from tests.sql.engine import LEASE, Claim, Engine


def ids(claims: list[Claim]) -> list[int]:
    return [claim.id for claim in claims]


def is_held_back(engine: Engine, **words: int) -> bool:
    """Claim in a transaction, which keeps the answer; return whether the next task waits for a free slot."""
    with engine.connection.transaction():
        engine.claim(**words)
        return bool(engine.value("select current_setting('rolecall.held_back') = 'true'"))


def lose_unbegun(engine: Engine, times: int) -> None:
    """Make the worker that holds everything die repeatedly before anything has started."""
    for _ in range(times):
        engine.claim(100, start=0)
        engine.clock.advance(seconds=LEASE + 1)
        engine.rescue()


def test_task_with_one_attempt_is_not_prefetched(engine: Engine) -> None:
    engine.enqueue(max_attempts=1)

    assert engine.claim(10, start=0) == []
    assert len(engine.claim(10, start=1)) == 1


def test_handler_or_role_with_one_attempt_applies_to_its_tasks(engine: Engine) -> None:
    engine.declare({"name": "once", "max_attempts": 1}, handlers=[{"name": "only", "role": "work", "max_attempts": 1}])
    engine.enqueue("once")
    engine.enqueue("work", handler="only")

    assert engine.claim(10, start=0) == []


def test_claim_of_a_single_attempt_task_records_its_start(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    engine.claim(10, start=1)

    assert engine.task(task_id).started_at == engine.clock.now()


def test_tasks_before_a_single_attempt_task_are_prefetched(engine: Engine) -> None:
    plain = [engine.enqueue() for _ in range(3)]
    engine.clock.advance(seconds=1)
    engine.enqueue(max_attempts=1)

    assert ids(engine.claim(10, start=0)) == plain


def test_single_attempt_task_at_the_head_stops_prefetching(engine: Engine) -> None:
    """Otherwise prefetched tasks would keep every slot busy, and its turn would never come."""
    once = engine.enqueue(max_attempts=1)
    plain = engine.enqueue()

    assert engine.claim(10, start=0) == []
    assert ids(engine.claim(10, start=1)) == [once, plain]


def test_free_slots_take_a_single_attempt_task_in_its_turn(engine: Engine) -> None:
    wanted = [engine.enqueue(), engine.enqueue(max_attempts=1), engine.enqueue(), engine.enqueue(max_attempts=1)]

    assert ids(engine.claim(10, start=3)) == wanted[:3]


def test_claim_reports_a_task_held_back_for_lack_of_a_slot(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "max_attempts": 1}] * 2)

    assert is_held_back(engine, limit=10, start=1)
    assert not is_held_back(engine, limit=10, start=1)


def test_less_urgent_single_attempt_task_does_not_hold_back_more_urgent_ones(engine: Engine) -> None:
    engine.enqueue(max_attempts=1)
    urgent = [engine.enqueue(priority=1) for _ in range(2)]
    engine.enqueue(priority=-1)

    assert ids(engine.claim(10, start=0)) == urgent


def test_single_attempt_task_with_a_busy_key_holds_nothing_back(engine: Engine) -> None:
    engine.enqueue(key="k")
    engine.claim_one()
    engine.enqueue(key="k", max_attempts=1)
    plain = engine.enqueue()
    engine.claim(10, start=1)
    others = [engine.enqueue() for _ in range(2)]

    assert engine.state(plain) == "running"
    assert ids(engine.claim(10, start=0)) == others


def test_key_of_a_single_attempt_task_is_not_taken_by_prefetching(engine: Engine) -> None:
    first = engine.enqueue()
    engine.clock.advance(seconds=1)
    once = engine.enqueue(key="k", max_attempts=1)
    engine.clock.advance(seconds=1)
    other = engine.enqueue(key="k")

    assert ids(engine.claim(10, start=0)) == [first]
    [claim] = engine.claim(10, start=1)
    assert claim.id == once

    engine.complete(claim)
    assert ids(engine.claim(10, start=0)) == [other]


def test_session_that_prefetches_finds_single_attempt_tasks_when_it_has_a_slot(
    engine: Engine, session: Session
) -> None:
    other = session()
    for _ in range(3):
        engine.enqueue_many([{"role": "work"}, {"role": "work", "max_attempts": 1}, {"role": "work"}])
    worker = engine.worker()

    claimed = [
        ids(other.claim(2, worker=worker, start=start, reset_watermark=False)) for start in (0, 1, 0, 2, 1, 2, 1, 2)
    ]

    assert sorted(chain.from_iterable(claimed)) == [task.id for task in engine.tasks()]


def test_crash_before_the_start_refunds_the_attempt_and_fails_nothing(engine: Engine) -> None:
    """Another task of the batch killed the worker before this one started."""
    task_id = engine.enqueue(max_attempts=2)

    lose_unbegun(engine, 50)

    assert (engine.state(task_id), engine.task(task_id).attempt) == ("pending", 0)


def test_task_lost_three_times_before_its_start_is_no_longer_prefetched(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=2)

    lose_unbegun(engine, 2)
    assert ids(claims := engine.claim(start=0)) == [task_id]
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()

    assert claims
    assert engine.claim(start=0) == []
    [claim] = engine.claim(start=1)
    assert (claim.id, engine.task(task_id).started_at) == (task_id, None)


def test_claim_into_a_free_slot_does_not_record_a_start(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=2)

    [claim] = engine.claim(1, start=1)
    assert engine.task(task_id).started_at is None
    engine.start(claim)
    assert engine.task(task_id).started_at == engine.clock.now()


def test_claim_records_the_start_if_the_worker_reports_no_starts(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=2)
    engine.claim(1)

    assert engine.task(task_id).started_at == engine.clock.now()


def test_suspect_that_kills_its_worker_fails_after_its_last_attempt(engine: Engine) -> None:
    """From the third claim on, the start must be recorded before the handler is called."""
    task_id = engine.enqueue(max_attempts=2, retry={"kind": "linear", "step": 0})
    claims = 0
    while engine.state(task_id) == "pending":
        [claim] = engine.claim(start=0) or engine.claim(start=1)
        claims += 1
        if claim.fence - claim.attempt >= SUSPECT_FROM:
            engine.start(claim)
        engine.clock.advance(seconds=LEASE + 1)
        engine.rescue()

    assert (claims, engine.state(task_id)) == (2 + 2, "failed")


def test_deadline_passed_before_the_start_refunds_the_attempt(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=2, timeout=1)
    engine.claim(start=0)
    engine.clock.advance(seconds=LEASE + 1)

    assert engine.rescue() == {task_id: "pending"}
    assert (engine.task(task_id).attempt, engine.events(task_id)) == (0, ["crashed"])


def test_shutdown_during_an_only_attempt_fails_the_task(engine: Engine) -> None:
    """The task must not run twice."""
    task_id = engine.enqueue(max_attempts=1)

    engine.release(engine.claim_one())

    assert engine.state(task_id) == "failed"
    assert "was stopped" in str(engine.task(task_id).error)


@pytest.mark.parametrize("words", [{}, {"max_attempts": 1}])
def test_manual_retry_resets_the_count_of_lost_claims(engine: Engine, words: dict[str, int]) -> None:
    task_id = engine.enqueue(**words)
    engine.claim(start=0)
    lose_unbegun(engine, 3)
    engine.cancel(task_id)
    engine.retry(task_id)

    assert len(engine.claim(start=0)) == (not words)


def test_replacing_a_single_attempt_task_keeps_it_out_of_prefetching(engine: Engine) -> None:
    engine.enqueue(max_attempts=1, dedupe_key="d")
    engine.enqueue(max_attempts=1, dedupe_key="d", priority=3, dedupe={"mode": "replace"})

    assert engine.claim(10, start=0) == []
    assert engine.claim_one().priority == 3
