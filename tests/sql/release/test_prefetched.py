"""Returning a task before its start costs it nothing, however often."""

from __future__ import annotations

from tests.sql.engine import Engine


def test_prefetched_task_can_be_returned_any_number_of_times(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=2)
    worker = engine.worker()

    for _ in range(15):
        [claim] = engine.claim(1, worker=worker, start=0)
        engine.release(claim)

    task = engine.task(task_id)
    assert (task.state, task.attempt) == ("pending", 0)
