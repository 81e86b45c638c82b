"""The consequences of a failure: another attempt by the policy, or the finish."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rolecall.model.retry import RetryKind, linear
from tests.sql.engine import START, Document, Engine

LINEAR = {"kind": "linear", "step": 5, "cap": 12}
EXPONENTIAL = {"kind": "exponential", "first": 10, "factor": 2, "cap": 300, "jitter": 0}
DELAY = """
select due - now() from rolecall.decide_after_attempt(
    jsonb_populate_record(null::rolecall.tasks, jsonb_build_object('attempt', %s::int)), %s::jsonb, 'failed', null, false,
    now()
)
"""


def delays(engine: Engine, retry: Document, attempts: int) -> list[float]:
    """Return the delay before each retry, in seconds."""
    task_id = engine.enqueue(retry=retry, max_attempts=0)
    found = []
    for _ in range(attempts):
        engine.fail(engine.claim_one())
        due = engine.task(task_id).scheduled_for
        found.append((due - engine.clock.now()).total_seconds())
        engine.clock.set(due)
    return found


def test_linear_delays_grow_by_a_step_up_to_the_cap(engine: Engine) -> None:
    assert delays(engine, LINEAR, 4) == [5, 10, 12, 12]


def test_default_linear_policy_adds_five_seconds_up_to_a_minute(engine: Engine) -> None:
    assert delays(engine, linear().to_json(), 13) == [*range(5, 61, 5), 60]


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_finished_task_keeps_the_worker_of_its_last_attempt(engine: Engine, outcome: str) -> None:
    task_id = engine.enqueue(max_attempts=1)
    claim = engine.claim_one()

    engine.report(claim, outcome)

    assert (engine.task(task_id).state, engine.task(task_id).worker_id) == (outcome, claim.worker_id)


def test_exponential_delays_double_up_to_the_cap(engine: Engine) -> None:
    assert delays(engine, EXPONENTIAL, 7) == [10, 20, 40, 80, 160, 300, 300]


def test_immediate_retry_is_due_immediately(engine: Engine) -> None:
    assert delays(engine, {"kind": "linear", "step": 0}, 2) == [0, 0]


def test_jitter_spreads_the_delay_around_its_middle(engine: Engine) -> None:
    policy = '{"kind": "linear", "step": 100, "jitter": 0.1}'

    seconds = [engine.value(DELAY, 1, policy).total_seconds() for _ in range(200)]

    assert 90 <= min(seconds) < 95 < 105 < max(seconds) <= 110


@pytest.mark.parametrize("attempt", [1, 60, 100, 2_000_000_000])
@pytest.mark.parametrize("kind", [kind.value for kind in RetryKind if kind is not RetryKind.NONE])
def test_widest_policy_has_a_valid_delay_at_any_attempt(engine: Engine, kind: str, attempt: int) -> None:
    """An overflowing delay would leave a task that cannot be finished."""
    year = 31536000
    policy = f'{{"kind": "{kind}", "first": {year}, "factor": 1000, "step": {year}, "cap": {year}, "jitter": 1}}'
    assert engine.value("select rolecall.is_retry_policy(%s)", policy)

    assert engine.value(DELAY, attempt, policy) <= timedelta(seconds=2 * year)


@pytest.mark.parametrize("kind", RetryKind)
def test_role_can_have_each_kind_of_policy(engine: Engine, kind: RetryKind) -> None:
    engine.rows("update rolecall.roles set retry = jsonb_build_object('kind', %s::text) returning name", kind.value)

    assert engine.value("select every(rolecall.is_retry_policy(retry)) from rolecall.roles")


def test_policy_none_fails_at_the_first_failure(engine: Engine) -> None:
    task_id = engine.enqueue(retry={"kind": "none"}, max_attempts=9)

    engine.fail(engine.claim_one())

    assert engine.task(task_id).state == "failed"


def test_task_fails_after_its_last_attempt(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=3)
    states = []
    for _ in range(3):
        engine.fail(engine.claim_one(), "boom")
        states.append(engine.task(task_id).state)
        engine.clock.advance(hours=1)

    task = engine.task(task_id)
    assert states == ["pending", "pending", "failed"]
    assert (task.attempt, task.error) == (3, "boom")


def test_unlimited_attempts_never_run_out(engine: Engine) -> None:
    engine.enqueue(max_attempts=0, retry={"kind": "linear", "step": 0})
    for attempt in range(1, 30):
        claim = engine.claim_one()
        assert (claim.attempt, claim.max_attempts) == (attempt, None)
        engine.fail(claim)

    assert engine.tasks()[0].state == "pending"


def test_retry_policy_of_the_task_overrides_handler_and_role(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "h", "role": "work", "retry": {"kind": "linear", "step": 20, "cap": 300}}])
    ids = [
        engine.enqueue(),
        engine.enqueue(handler="h"),
        engine.enqueue(handler="h", retry={"kind": "linear", "step": 30, "cap": 300}),
    ]
    for claim in engine.claim(3):
        engine.fail(claim)

    due = [(engine.task(task_id).scheduled_for - START).total_seconds() for task_id in ids]
    assert due == [10, 20, 30]


def test_max_attempts_of_the_task_override_handler_and_role(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "h", "role": "work", "max_attempts": 7}, {"name": "ever", "max_attempts": 0}])
    for words in ({}, {"handler": "h"}, {"handler": "h", "max_attempts": 1}, {"role": "ever"}, {"max_attempts": 0}):
        engine.enqueue(**{"role": "work", **words})

    assert [task.max_attempts for task in engine.tasks()] == [3, 7, 1, None, None]


def test_final_failure_is_not_retried(engine: Engine) -> None:
    task_id = engine.enqueue()

    engine.fail(engine.claim_one(), "no such store", final=True)

    task = engine.task(task_id)
    assert (task.state, task.error, task.attempt) == ("failed", "no such store", 1)


def test_failure_can_set_its_own_delay(engine: Engine) -> None:
    """For example from a Retry-After header."""
    task_id = engine.enqueue()

    engine.fail(engine.claim_one(), after=77)

    assert engine.task(task_id).scheduled_for == START + timedelta(seconds=77)


@pytest.mark.parametrize(("after", "seconds"), [(-5, 0), (1e300, 4e9)])
def test_out_of_range_delay_is_limited(engine: Engine, after: float, seconds: float) -> None:
    task_id = engine.enqueue()

    engine.fail(engine.claim_one(), after=after)

    assert engine.task(task_id).scheduled_for == START + timedelta(seconds=seconds)


def test_task_waiting_for_a_retry_has_status_retrying(engine: Engine) -> None:
    task_id = engine.enqueue()

    engine.fail(engine.claim_one(), "boom")

    task = engine.task(task_id)
    assert (task.status, task.error, task.worker_id, task.lease_until) == ("retrying", "boom", None, None)


def test_retry_frees_the_key_for_other_tasks(engine: Engine) -> None:
    engine.enqueue(key="k")
    other = engine.enqueue(key="k")
    engine.fail(engine.claim_one())

    assert engine.claim_one().id == other
