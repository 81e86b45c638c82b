"""The stored effects of each outcome."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.engine import START, Engine


def test_completed_task_keeps_its_fields_and_result(engine: Engine) -> None:
    task_id = engine.enqueue(payload={"store": 7}, key="k", dedupe_key="d", priority=3)
    claim = engine.claim_one()
    engine.clock.advance(seconds=5)

    engine.complete(claim, result={"products": 12})

    task = engine.task(task_id)
    assert (task.state, task.status, task.result) == ("completed", "completed", {"products": 12})
    assert (task.payload, task.key, task.dedupe_key, task.priority) == ({"store": 7}, "k", "d", 3)
    assert (task.attempt, task.fence, task.worker_id) == (1, claim.fence, claim.worker_id)
    assert (task.claimed_at, task.finished_at) == (START, START + timedelta(seconds=5))
    assert task.error is None


@pytest.mark.parametrize("result", [None, 0, False, "", [], {}, "text", 1.5, [None], {"a": {"b": [1]}}, 10**30])
def test_any_json_can_be_a_result(engine: Engine, result: Any) -> None:
    task_id = engine.enqueue()

    engine.complete(engine.claim_one(), result=result)

    assert engine.task(task_id).result == result


def test_run_time_determines_the_start_of_a_prefetched_task(engine: Engine) -> None:
    task_id = engine.enqueue()
    [claim] = engine.claim(start=0)
    engine.clock.advance(seconds=10)

    engine.complete(claim, ran=4)

    assert engine.task(task_id).started_at == START + timedelta(seconds=6)


def test_start_of_a_prefetched_task_is_unknown_without_its_run_time(engine: Engine) -> None:
    task_id = engine.enqueue()
    [claim] = engine.claim(start=0)

    engine.complete(claim)

    assert engine.task(task_id).started_at is None


def test_start_is_never_before_the_claim(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()

    engine.complete(claim, ran=99)

    assert engine.task(task_id).started_at == START


def test_snooze_does_not_spend_an_attempt(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    for _ in range(20):
        assert engine.snooze(engine.claim_one(), 30) is None
        task = engine.task(task_id)
        assert (task.state, task.status, task.attempt) == ("pending", "scheduled", 0)
        assert task.scheduled_for - engine.clock.now() == timedelta(seconds=30)
        engine.clock.advance(seconds=30)


def test_returned_task_is_claimable_immediately_and_spends_no_attempt(engine: Engine) -> None:
    """This applies even if the claim recorded the start."""
    task_id = engine.enqueue(max_attempts=1)
    for _ in range(20):
        assert engine.report(engine.claim_one(), "returned") is None

    assert (engine.state(task_id), engine.task(task_id).attempt) == ("pending", 0)
    assert engine.events(task_id) == ["returned"] * 20


def test_handler_can_cancel_its_task(engine: Engine) -> None:
    task_id = engine.enqueue()

    engine.report(engine.claim_one(), "cancelled", error="the store has closed")

    task = engine.task(task_id)
    assert (task.state, task.error) == ("cancelled", "the store has closed")


def test_failure_without_an_error_stores_the_reason(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)

    engine.report(engine.claim_one(), "failed", reason="timeout")

    assert engine.task(task_id).error == "timeout"


def test_failures_and_snoozes_are_events_but_completions_are_not(engine: Engine) -> None:
    task_id = engine.enqueue(retry={"kind": "linear", "step": 0})
    engine.fail(engine.claim_one())
    engine.fail(engine.claim_one(), reason="timeout")
    engine.snooze(engine.claim_one(), 0)
    engine.complete(engine.claim_one())

    assert engine.events(task_id) == ["error", "timeout", "snoozed"]


@pytest.mark.parametrize("outcome", ["done", "", None, "pending"])
def test_unknown_outcome_is_rejected_and_rolls_back_the_call(engine: Engine, outcome: str) -> None:
    engine.enqueue_many([{"role": "work"}] * 2)
    worker = engine.worker()
    first, second = engine.claim(2, worker=worker)

    with pytest.raises(psycopg.Error, match=f"the report on task {second.id} has the unknown outcome") as refusal:
        engine.finish(
            worker,
            {"id": first.id, "fence": first.fence, "outcome": "completed"},
            {"id": second.id, "fence": second.fence, "outcome": outcome},
        )

    assert refusal.value.sqlstate == "RC042"
    assert [task.state for task in engine.tasks()] == ["running", "running"]


def test_outcome_sent_twice_in_one_call_counts_once(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    report = {"id": claim.id, "fence": claim.fence, "outcome": "failed", "error": "x"}

    assert engine.finish(claim.worker_id, report, report) == {}

    assert engine.task(task_id).attempt == 1
    assert engine.events(task_id) == ["error"]


def test_final_outcome_wins_over_another_for_the_same_claim(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    words = {"id": claim.id, "fence": claim.fence}

    engine.finish(claim.worker_id, {**words, "outcome": "failed"}, {**words, "outcome": "completed"})

    assert engine.task(task_id).state == "completed"
    assert engine.events(task_id) == []
