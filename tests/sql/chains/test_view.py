"""A chain has the state of its last task."""

from __future__ import annotations

from typing import Any

from tests.sql.engine import Engine

COLUMNS = "state::text, status, open, length, last_id, result, handler, last_handler"


def chain(engine: Engine, chain_id: int) -> tuple[Any, ...]:
    [row] = engine.rows(f"select {COLUMNS} from rolecall.chains where id = %s", chain_id)
    return row


def go_on(engine: Engine, result: object = None) -> int:
    """Run the next task and continue its chain; return the id of the new task."""
    claim = engine.claim_one()
    engine.complete(claim, result=result, next={"continuation": {"role": "work"}})
    return max(task.id for task in engine.tasks())


def test_chain_of_one_task_equals_that_task(engine: Engine) -> None:
    task_id = engine.enqueue(after=60)

    assert chain(engine, task_id) == ("pending", "scheduled", True, 1, task_id, None, "work", "work")


def test_status_and_result_are_those_of_the_last_task(engine: Engine) -> None:
    first = engine.enqueue()
    second = go_on(engine, "one")
    assert chain(engine, first)[:6] == ("pending", "ready", True, 2, second, None)

    third = go_on(engine, "two")
    engine.complete(engine.claim_one(), result="three")

    assert chain(engine, first)[:6] == ("completed", "completed", False, 3, third, "three")


def test_chain_is_open_in_every_open_state(engine: Engine) -> None:
    later = engine.enqueue(after=60)
    blocked = engine.enqueue(needs=[later])
    running = engine.enqueue()
    engine.claim_one()
    waiting = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [{"role": "work"}]})

    states = [chain(engine, each)[:3] for each in (later, blocked, running, waiting)]
    assert states == [
        ("pending", "scheduled", True),
        ("blocked", "blocked", True),
        ("running", "running", True),
        ("waiting", "waiting", True),
    ]


def test_failed_or_cancelled_chain_is_closed(engine: Engine) -> None:
    failed, cancelled = engine.enqueue(), engine.enqueue()
    engine.fail_task(failed)
    engine.cancel(cancelled)

    assert [chain(engine, each)[0] for each in (failed, cancelled)] == ["failed", "cancelled"]
    assert not any(chain(engine, each)[2] for each in (failed, cancelled))


def test_view_has_one_row_per_chain(engine: Engine) -> None:
    first = engine.enqueue()
    go_on(engine)
    other = engine.enqueue()

    assert engine.rows("select id from rolecall.chains order by id") == [(first,), (other,)]
