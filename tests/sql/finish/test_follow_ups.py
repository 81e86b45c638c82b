"""Follow-ups and the completion are stored together or not at all."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine, report


def test_follow_ups_start_their_own_chains_and_record_their_origin(engine: Engine) -> None:
    first = engine.enqueue()
    engine.complete(engine.claim_one(), next={"follow_ups": [{"role": "work", "payload": {"n": n}} for n in (1, 2)]})
    second, third = engine.claim(2)

    assert [(task.chain_id, task.chain_index, task.origin_id) for task in engine.tasks()] == [
        (first, 0, None),
        (second.id, 0, first),
        (third.id, 0, first),
    ]
    assert (second.payload, third.payload) == ({"n": 1}, {"n": 2})


@pytest.mark.parametrize(
    ("follow_up", "code"),
    [
        ({"role": "unknown"}, "RC031"),
        ({"role": "work", "priority": 1000}, "RC040"),
        ({"role": "work", "payload": [1]}, "RC040"),
        ({}, "RC031"),
    ],
    ids=str,
)
def test_invalid_follow_up_rolls_back_the_whole_call(engine: Engine, follow_up: object, code: str) -> None:
    engine.enqueue_many([{"role": "work"}] * 2)
    worker = engine.worker()
    first, second = engine.claim(2, worker=worker)

    with pytest.raises(psycopg.Error) as refusal:
        engine.finish(
            worker,
            report(first, "completed", next={"follow_ups": [{"role": "work"}]}),
            report(second, "completed", next={"follow_ups": [follow_up]}),
        )

    assert refusal.value.sqlstate == code
    assert [task.state for task in engine.tasks()] == ["running", "running"]


def test_repeated_completion_stores_no_second_follow_up(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    for _ in range(2):
        engine.complete(claim, next={"follow_ups": [{"role": "work"}]})

    assert len(engine.tasks()) == 2


@pytest.mark.parametrize("outcome", ["failed", "snoozed", "cancelled"])
def test_only_a_completed_task_has_follow_ups(engine: Engine, outcome: str) -> None:
    engine.enqueue()

    engine.report(engine.claim_one(), outcome, next={"follow_ups": [{"role": "work"}]})

    assert len(engine.tasks()) == 1


def test_follow_up_of_a_lost_claim_is_not_stored(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.release(claim)

    assert engine.complete(claim, next={"follow_ups": [{"role": "work"}]}) == "taken"
    assert len(engine.tasks()) == 1


def test_follow_up_can_have_the_key_of_its_task(engine: Engine) -> None:
    engine.enqueue(key="store")

    engine.complete(engine.claim_one(), next={"follow_ups": [{"role": "work", "key": "store"}]})

    assert engine.claim_one().key == "store"


def test_follow_up_can_have_the_dedupe_key_of_its_task(engine: Engine) -> None:
    engine.enqueue(dedupe_key="d")

    engine.complete(engine.claim_one(), next={"follow_ups": [{"role": "work", "dedupe_key": "d"}]})

    assert [task.state for task in engine.tasks()] == ["completed", "pending"]


def test_duplicate_follow_up_is_not_stored_again(engine: Engine) -> None:
    standing = engine.enqueue(after=60, dedupe_key="d")
    engine.enqueue()

    engine.complete(engine.claim_one(), next={"follow_ups": [{"role": "work", "dedupe_key": "d"}]})

    assert [task.id for task in engine.tasks() if task.state == "pending"] == [standing]


def test_follow_ups_of_a_batch_record_their_own_origins(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 3)
    worker = engine.worker()
    claims = engine.claim(3, worker=worker)

    engine.finish(
        worker, *(report(claim, "completed", next={"follow_ups": [{"role": "work"}] * 2}) for claim in claims)
    )

    assert sorted(task.origin_id for task in engine.tasks() if task.origin_id) == sorted(ids * 2)


@pytest.mark.parametrize("follow_ups", [None, []])
def test_empty_follow_ups_have_no_effect(engine: Engine, follow_ups: object) -> None:
    engine.enqueue()

    assert engine.complete(engine.claim_one(), next={"follow_ups": follow_ups}) is None
    assert len(engine.tasks()) == 1
