"""The attempts of a task: worker, times and outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from tests.sql.engine import LEASE, Engine

AT_ONCE = {"kind": "linear", "step": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    attempt: int
    worker_id: int | None
    claimed_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str | None
    error: str | None


def attempts(engine: Engine, task_id: int) -> list[Attempt]:
    with engine.connection.cursor(row_factory=class_row(Attempt)) as cursor:
        cursor.execute("select * from rolecall.attempts(%s)", [task_id])
        return cursor.fetchall()


def outcomes(engine: Engine, task_id: int) -> list[tuple[int, str | None]]:
    return [(each.attempt, each.outcome) for each in attempts(engine, task_id)]


def test_task_that_was_never_claimed_has_no_attempts(engine: Engine) -> None:
    assert attempts(engine, engine.enqueue()) == []
    assert attempts(engine, 4711) == []


def test_attempt_contains_claim_start_end_worker_and_error(engine: Engine) -> None:
    task_id = engine.enqueue(retry=AT_ONCE)
    wanted = []
    for error in ("first", "second"):
        [claim] = engine.claim(start=0)
        claimed_at = engine.clock.now()
        engine.clock.advance(seconds=1)
        engine.start(claim)
        started_at = engine.clock.now()
        engine.clock.advance(seconds=1)
        engine.fail(claim, error)
        wanted.append((claim.attempt, claim.worker_id, claimed_at, started_at, engine.clock.now(), "error", error))
        engine.clock.advance(seconds=1)

    found = attempts(engine, task_id)

    assert [
        (each.attempt, each.worker_id, each.claimed_at, each.started_at, each.ended_at, each.outcome, each.error)
        for each in found
    ] == wanted


def test_running_attempt_has_no_end(engine: Engine) -> None:
    task_id = engine.enqueue(retry=AT_ONCE)
    engine.fail(engine.claim_one())
    engine.clock.advance(seconds=1)
    [claim] = engine.claim(start=0)

    [_, latest] = attempts(engine, task_id)

    assert (latest.attempt, latest.worker_id, latest.claimed_at) == (2, claim.worker_id, engine.clock.now())
    assert (latest.started_at, latest.ended_at, latest.outcome) == (None, None, None)


def test_every_outcome_is_listed_once(engine: Engine) -> None:
    task_id = engine.enqueue(retry=AT_ONCE, max_attempts=9)
    ends: tuple[Any, ...] = (
        engine.fail,
        lambda claim: engine.snooze(claim, 0),
        engine.release,
        lambda _: engine.clock.advance(seconds=LEASE + 1),
    )
    for end in ends:
        end(engine.claim_one())
        engine.rescue()
        engine.clock.advance(seconds=1)
    engine.complete(engine.claim_one())

    assert outcomes(engine, task_id) == [
        (1, "error"), (2, "snoozed"), (2, "shutdown"), (2, "crashed"), (3, "completed"),
    ]  # fmt: skip


def test_final_failure_is_listed_once(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    engine.fail(engine.claim_one(), "boom")

    assert outcomes(engine, task_id) == [(1, "error")]


def test_task_retried_by_an_operator_keeps_its_attempts(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    engine.fail(engine.claim_one(), "boom")
    engine.clock.advance(seconds=1)
    engine.retry(task_id)
    engine.clock.advance(seconds=1)
    engine.complete(engine.claim_one())

    assert outcomes(engine, task_id) == [(1, "error"), (1, "completed")]


def test_finishing_a_task_from_outside_ends_its_attempt(engine: Engine) -> None:
    """The finish belongs to no claim, so no worker is stored."""
    task_id = engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=1)
    engine.complete_task(task_id)

    [only] = attempts(engine, task_id)
    assert (only.outcome, only.worker_id, only.ended_at) == ("completed", None, engine.clock.now())


def test_parent_has_one_attempt_for_each_step(engine: Engine) -> None:
    parent = engine.enqueue()
    claim = engine.claim_one()
    engine.complete(claim, next={"children": [{"role": "work"}], "gathers": True})
    engine.clock.advance(seconds=1)
    for _ in range(2):
        engine.complete(engine.claim_one())
        engine.clock.advance(seconds=1)

    assert outcomes(engine, parent) == [(1, "waiting"), (1, "completed")]
    first = attempts(engine, parent)[0]
    assert (first.worker_id, first.claimed_at, first.started_at) == (
        claim.worker_id,
        claim.created_at,
        claim.created_at,
    )


def test_attempt_from_an_event_of_previous_release_has_no_claim_or_start(engine: Engine) -> None:
    task_id = engine.enqueue(retry=AT_ONCE)
    claim = engine.claim_one()
    engine.fail(claim, "boom")
    engine.rows("update rolecall.task_events set claimed_at = null, started_at = null")

    [only] = attempts(engine, task_id)

    assert (only.attempt, only.worker_id, only.outcome, only.error) == (1, claim.worker_id, "error", "boom")
    assert (only.claimed_at, only.started_at) == (None, None)


def test_attempts_need_no_additional_rows(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one())
    failing = engine.enqueue()
    engine.fail(engine.claim_one())

    assert (engine.events(task_id), engine.events(failing)) == ([], ["error"])
