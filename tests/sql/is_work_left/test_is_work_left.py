"""The work that keeps an until-idle worker running."""

from __future__ import annotations

from tests.sql.engine import Engine

SOON = 300


def is_work_left(engine: Engine, *roles: str, handlers: list[str] | None = None) -> bool:
    found: bool = engine.value(
        "select rolecall.is_work_left(null, %s, %s)",
        list(roles),
        engine.handlers() if handlers is None else handlers,
    )
    return found


def test_empty_pool_has_no_work_left(engine: Engine) -> None:
    assert not is_work_left(engine)


def test_due_task_is_work_left_until_it_has_finished(engine: Engine) -> None:
    engine.enqueue()

    assert is_work_left(engine)
    claim = engine.claim_one()
    assert is_work_left(engine)
    engine.complete(claim)
    assert not is_work_left(engine)


def test_task_scheduled_for_later_is_not_work_left(engine: Engine) -> None:
    engine.enqueue(after=1)

    assert not is_work_left(engine)


def test_task_due_again_within_five_minutes_is_work_left(engine: Engine) -> None:
    engine.enqueue()
    engine.snooze(engine.claim_one(), SOON - 1)
    assert is_work_left(engine)


def test_task_due_again_later_is_not_work_left(engine: Engine) -> None:
    engine.enqueue()
    engine.snooze(engine.claim_one(), SOON + 1)
    assert not is_work_left(engine)


def test_tasks_of_other_roles_and_handlers_are_not_work_left(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue("other")

    assert is_work_left(engine, "other")
    assert not is_work_left(engine, "work")
    assert not is_work_left(engine, handlers=["work"])


def test_tasks_of_a_paused_role_are_not_work_left(engine: Engine) -> None:
    engine.enqueue()
    engine.rows("update rolecall.roles set paused_at = rolecall.clock() where name = 'work'")

    assert not is_work_left(engine)


def test_parked_task_counts_if_its_keys_holder_is_in_the_same_role(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue_many([{"role": "other", "key": "k", "priority": 1}, {"role": "work", "key": "k"}])
    engine.claim(2)
    engine.claim(2)

    assert not is_work_left(engine, "work")
    assert is_work_left(engine)
