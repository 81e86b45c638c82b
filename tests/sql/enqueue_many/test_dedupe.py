"""At most one open task for each handler and dedupe key."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, Engine
from tests.sql.interleavings.stage import Stage, commit, opening, rollback


def test_open_task_is_returned_for_a_duplicate(engine: Engine) -> None:
    first = engine.enqueue(dedupe_key="d", payload={"n": 1})

    assert engine.enqueue_many([{"role": "work", "dedupe_key": "d", "payload": {"n": 2}}]) == ([first], [first])
    assert [task.payload for task in engine.tasks()] == [{"n": 1}]


def test_existing_task_keeps_its_priority(engine: Engine) -> None:
    task_id = engine.enqueue(dedupe_key="a", priority=1)
    engine.enqueue(dedupe_key="a", priority=9)

    assert engine.task(task_id).priority == 1


@pytest.mark.parametrize("state", ["scheduled", "ready", "parked", "claimed", "running", "retrying"])
def test_duplicate_returns_the_existing_task_in_every_open_state(engine: Engine, state: str) -> None:
    engine.enqueue(key="k")
    holder = engine.claim_one()
    task_id = engine.enqueue(dedupe_key="d", key="k" if state == "parked" else None, after=60 * (state == "scheduled"))
    if state in {"claimed", "running", "retrying", "parked"}:
        for claim in engine.claim(start=0 if state == "claimed" else None):
            if state == "retrying":
                engine.fail(claim)
    assert engine.task(task_id).status == state

    assert engine.enqueue(dedupe_key="d") == task_id
    assert engine.complete(holder) is None


@pytest.mark.parametrize("ending", ["completed", "failed", "cancelled"])
def test_new_task_is_stored_after_the_first_has_finished(engine: Engine, ending: str) -> None:
    first = engine.enqueue(dedupe_key="d")
    engine.report(engine.claim_one(), ending, error="x", final=True)

    second = engine.enqueue(dedupe_key="d")

    assert second != first
    assert engine.enqueue(dedupe_key="d") == second


def test_rescued_task_is_still_the_existing_task(engine: Engine) -> None:
    task_id = engine.enqueue(dedupe_key="d")
    engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()

    assert engine.enqueue(dedupe_key="d") == task_id


def test_each_handler_has_its_own_dedupe_keys(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "h", "role": "work"}])

    assert engine.enqueue(dedupe_key="d") != engine.enqueue(dedupe_key="d", handler="h")


def test_duplicates_in_one_batch_are_stored_once(engine: Engine) -> None:
    ids, deduplicated = engine.enqueue_many([{"role": "work", "dedupe_key": "d"}] * 3)

    assert len(set(ids)) == 1
    assert deduplicated == ids[1:]
    assert len(engine.tasks()) == 1


def test_second_task_is_stored_if_the_first_is_rolled_back(stage: Stage) -> None:
    """The second call waits for the first, in every order."""
    for play in stage.orders(2, 1):
        answers = play.run(
            (opening(lambda engine: engine.enqueue(dedupe_key="d")), rollback),
            (lambda engine: engine.enqueue(dedupe_key="d"),),
        )

        assert [task.id for task in stage.engine.tasks()] == answers[1]


def test_second_call_returns_the_first_task_if_it_commits(stage: Stage) -> None:
    for play in stage.orders(2, 1):
        [[first, _], [second]] = play.run(
            (opening(lambda engine: engine.enqueue(dedupe_key="d")), commit),
            (lambda engine: engine.enqueue(dedupe_key="d"),),
        )

        assert first == second
        assert len(stage.engine.tasks()) == 1


def test_task_is_stored_if_the_existing_task_finishes_meanwhile(stage: Stage) -> None:
    for play in stage.orders(2, 1):
        old = stage.engine.enqueue(dedupe_key="d")
        claim = stage.engine.claim_one()

        [_, [new]] = play.run(
            (opening(lambda engine: engine.complete(claim)), commit),
            (lambda engine: engine.enqueue(dedupe_key="d"),),
        )

        open_ids = [task.id for task in stage.engine.tasks() if task.state == "pending"]
        assert (new, open_ids) in ((old, []), (new, [new]))


def test_fifty_concurrent_enqueues_store_one_task(engine: Engine, session: Session) -> None:
    sessions = [session() for _ in range(5)]
    with ThreadPoolExecutor(5) as threads:
        ids = {each for _ in range(10) for each in threads.map(lambda one: one.enqueue(dedupe_key="d"), sessions)}

    assert len(ids) == 1
    assert len(engine.tasks()) == 1


def test_duplicate_outside_the_snapshot_is_a_serialization_failure(engine: Engine, session: Session) -> None:
    """A caller must not get the id of a task that it cannot see."""
    other = session()
    engine.rows("begin isolation level repeatable read")
    engine.rows("select 1")
    other.enqueue(dedupe_key="d")

    with pytest.raises(psycopg.errors.SerializationFailure):
        engine.enqueue(dedupe_key="d")
