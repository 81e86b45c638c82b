"""Defaults of omitted options, and due times."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.engine import START, Engine


def test_new_task_is_ready_immediately(engine: Engine) -> None:
    task = engine.task(engine.enqueue())

    assert (task.state, task.status, task.scheduled_for, task.created_at) == ("pending", "ready", START, START)
    assert (task.priority, task.payload, task.attempt, task.fence, task.max_attempts) == (0, {}, 0, 0, 3)
    assert (task.chain_id, task.chain_index) == (task.id, 0)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"role": "work"}, ("work", "work")),
        ({"handler": "fetch"}, ("work", "fetch")),
        ({"handler": "fetch", "role": "other"}, ("other", "fetch")),
        ({"handler": "other"}, ("other", "other")),
    ],
    ids=str,
)
def test_missing_role_or_handler_is_derived_from_the_other(
    engine: Engine, result: dict[str, str], expected: tuple[str, str]
) -> None:
    engine.declare({"name": "other"}, handlers=[{"name": "fetch", "role": "work"}])

    [task_id], _ = engine.enqueue_many([result])

    task = engine.task(task_id)
    assert (task.role, task.handler) == expected


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ({"after": 90}, 90),
        ({"after": 0}, 0),
        ({"after": -5}, 0),
        ({"scheduled_for": "2026-01-01T01:00:00+01:00"}, 0),
        ({"scheduled_for": "2026-01-01T02:00:00+01:00"}, 3600),
        ({"scheduled_for": "1999-01-01T00:00:00Z"}, 0),
        ({"scheduled_for": "0044-03-15T00:00:00Z BC"}, 0),
    ],
    ids=str,
)
def test_task_is_due_at_the_given_time_or_now_if_past(engine: Engine, words: dict[str, object], seconds: int) -> None:
    assert engine.task(engine.enqueue(**words)).scheduled_for == START + timedelta(seconds=seconds)


def test_negative_priorities_are_allowed(engine: Engine) -> None:
    assert engine.task(engine.enqueue(priority=-100)).priority == -100


def test_enqueue_can_be_called_from_psql(engine: Engine) -> None:
    task_id = engine.value(
        """select rolecall.enqueue('work', '{"store": 7, "note": null}', p_priority => 3, p_key => 'k', p_dedupe_key => 'd',
            p_scheduled_for => '2026-01-02T00:00:00Z', p_max_attempts => 0)"""
    )
    task = engine.task(task_id)

    assert (task.payload, task.priority, task.key, task.dedupe_key) == ({"store": 7, "note": None}, 3, "k", "d")
    assert (task.scheduled_for, task.max_attempts) == (START + timedelta(days=1), None)
    assert engine.value("select rolecall.enqueue('work', p_dedupe_key => 'd')") == task_id


def test_ids_beyond_2_to_the_31_are_supported(engine: Engine) -> None:
    engine.rows("alter sequence rolecall.tasks_id_seq restart 2147483647")
    engine.rows("alter sequence rolecall.workers_id_seq restart 3000000000")
    ids, _ = engine.enqueue_many([{"role": "work", "key": str(n)} for n in range(3)])
    worker = engine.worker()
    first, second, third = engine.claim(3, worker=worker)
    assert [claim.id for claim in (first, second, third)] == ids == [2147483647, 2147483648, 2147483649]

    assert engine.renew(first, second, third) == {}
    assert engine.report_info(third, {"a": 1}) is None
    engine.complete(third, next={"continuation": {"role": "work"}})
    engine.fail(second)
    engine.release(first)
    assert engine.cancel(first.id) == {first.id: "cancelled"}
    assert engine.retry(first.id) == {first.id: "pending"}
    assert engine.task(ids[2] + 1).chain_id == third.id
