"""Trigger makes pending tasks due now, all or none."""

from __future__ import annotations

from datetime import datetime

import psycopg
import pytest

from tests.sql.engine import START, Engine


def trigger(engine: Engine, *ids: int) -> list[tuple[int, datetime]]:
    return [(task_id, due) for task_id, due in engine.rows("select * from rolecall.trigger(%s)", list(ids))]


def test_scheduled_task_is_due_immediately(engine: Engine) -> None:
    task_id = engine.enqueue(after=3600)

    assert trigger(engine, task_id) == [(task_id, START)]

    assert engine.claim_one().id == task_id
    assert engine.events(task_id) == ["triggered"]


def test_task_waiting_for_a_retry_is_due_immediately(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.fail(claim)

    trigger(engine, claim.id)

    assert engine.claim_one().attempt == 2


def test_answers_are_in_the_order_of_the_ids(engine: Engine) -> None:
    ids = [engine.enqueue(after=60, key=key) for key in (None, "a", None)]

    assert [task_id for task_id, _ in trigger(engine, *reversed(ids))] == ids[::-1]


def test_due_task_keeps_its_position(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.clock.advance(seconds=60)

    assert trigger(engine, task_id) == [(task_id, START)]
    assert engine.events(task_id) == []


@pytest.mark.parametrize("state", ["blocked", "running", "completed", "cancelled"])
def test_non_pending_task_rejects_the_whole_batch(engine: Engine, state: str) -> None:
    """A batch is atomic, and the error names the task and the reason."""
    later = engine.enqueue(after=60)
    odd = engine.enqueue(needs=[later]) if state == "blocked" else engine.enqueue()
    if state in {"running", "completed"}:
        claim = engine.claim_one()
    if state == "completed":
        engine.complete(claim)
    if state == "cancelled":
        engine.cancel(odd)

    with pytest.raises(psycopg.Error) as refusal:
        trigger(engine, later, odd)

    assert refusal.value.sqlstate == "RC003"
    assert refusal.value.diag.message_primary == f"task {odd} cannot be triggered: it is not pending but {state}"
    assert engine.task(later).status == "scheduled"


def test_missing_task_rejects_the_whole_batch(engine: Engine) -> None:
    later = engine.enqueue(after=60)

    with pytest.raises(psycopg.Error) as refusal:
        trigger(engine, later, 4711)

    assert (refusal.value.sqlstate, refusal.value.diag.message_primary) == ("RC002", "there is no task 4711")
    assert engine.task(later).status == "scheduled"


def test_idle_worker_is_notified(engine: Engine) -> None:
    task_id = engine.enqueue(after=60)
    worker = engine.worker("work")
    engine.rows("select rolecall.mark_idle(%s, true)", worker)
    engine.rows("listen rolecall_wake")

    trigger(engine, task_id)

    [notice] = engine.connection.notifies(timeout=30, stop_after=1)
    assert notice.payload == "work"


def test_empty_batch_triggers_nothing(engine: Engine) -> None:
    assert trigger(engine) == []
