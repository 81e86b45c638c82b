"""The time that a worker can sleep."""

from __future__ import annotations

from tests.sql.engine import Engine


def next_due(engine: Engine, *roles: str, handlers: list[str] | None = None) -> float | None:
    seconds: float | None = engine.value(
        "select rolecall.next_due(%s, %s)", list(roles), engine.handlers() if handlers is None else handlers
    )
    return seconds


def test_empty_pool_has_no_next_due_time(engine: Engine) -> None:
    assert next_due(engine) is None


def test_due_task_has_zero_seconds(engine: Engine) -> None:
    engine.enqueue()

    assert next_due(engine) == 0


def test_earliest_task_determines_the_next_due_time(engine: Engine) -> None:
    for after in (90, 30, 60):
        engine.enqueue(after=after, priority=after)

    assert next_due(engine) == 30


def test_only_tasks_that_the_worker_can_claim_count(engine: Engine) -> None:
    engine.declare({"name": "other"}, {"name": "paused"})
    engine.rows(
        "update rolecall.roles set paused_at = created.at from (select rolecall.clock() as at) as created where name = 'paused'"
    )
    engine.enqueue("other", after=10)
    engine.enqueue("paused", after=20)
    engine.enqueue(after=30)

    assert next_due(engine, "work") == 30
    assert next_due(engine, handlers=["work", "paused"]) == 30
    assert next_due(engine, handlers=["paused"]) is None


def test_parked_task_does_not_count(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 2)
    engine.claim(2)
    engine.claim(2)

    assert next_due(engine) is None


def test_released_task_counts_below_the_watermark(engine: Engine) -> None:
    engine.enqueue()
    engine.release(engine.claim_one())

    assert next_due(engine) == 0
