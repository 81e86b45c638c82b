"""The tasks that a claim can take."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine


def ready(engine: Engine, *roles: str) -> list[int]:
    return [claim.id for claim in engine.claim(10, *roles)]


def test_claim_from_an_empty_pool_returns_nothing(engine: Engine) -> None:
    assert ready(engine) == []


def test_task_is_not_claimed_before_it_is_due(engine: Engine) -> None:
    later = engine.enqueue(after=10)
    assert ready(engine) == []

    engine.clock.advance(seconds=10)

    assert ready(engine) == [later]


def test_task_is_claimed_once(engine: Engine) -> None:
    engine.enqueue()

    assert len(engine.claim(10)) == 1
    assert engine.claim(10) == []


@pytest.mark.parametrize("limit", [0, 1, 3, 10])
def test_claim_returns_at_most_the_requested_number(engine: Engine, limit: int) -> None:
    engine.enqueue_many([{"role": "work"}] * 5)

    assert len(engine.claim(limit)) == min(limit, 5)


def test_worker_claims_tasks_of_its_roles_only(engine: Engine) -> None:
    engine.declare({"name": "other"}, {"name": "third"})
    work, other, _ = engine.enqueue("work"), engine.enqueue("other"), engine.enqueue("third")

    assert ready(engine, "other", "work") == [work, other]


def test_worker_without_roles_serves_every_role(engine: Engine) -> None:
    engine.declare({"name": "other"})

    assert [engine.enqueue("work"), engine.enqueue("other")] == ready(engine)


def test_task_of_an_unknown_handler_is_not_claimed_but_remains_visible(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "newer", "role": "work"}])
    newer, known = engine.enqueue(handler="newer"), engine.enqueue()

    assert [claim.id for claim in engine.claim(10, handlers=["work"])] == [known]
    assert engine.task(newer).status == "ready"
    assert engine.rows("select * from rolecall.counts()") == [("work", "pending", 1), ("work", "running", 1)]


def test_worker_without_handlers_claims_nothing(engine: Engine) -> None:
    engine.enqueue()

    assert engine.claim(10, handlers=[]) == []


def test_paused_role_is_not_claimed_while_other_roles_continue(engine: Engine) -> None:
    engine.declare({"name": "other"})
    paused, other = engine.enqueue(), engine.enqueue("other")
    engine.rows("update rolecall.roles set paused_at = rolecall.clock() where name = 'work'")
    assert ready(engine) == [other]

    engine.rows("update rolecall.roles set paused_at = null")

    assert ready(engine) == [paused]


def test_claim_in_another_session_takes_other_tasks(engine: Engine) -> None:
    first, second = engine.enqueue(), engine.enqueue()

    with engine.connection.transaction():
        assert engine.claim_one().id == first
    assert engine.claim_one().id == second


def test_two_identical_lines_are_served_as_one(engine: Engine) -> None:
    """Two transactions that enqueue a line's first task concurrently create two lines."""
    engine.rows("insert into rolecall.lines (role, handler, priority) values ('work', 'work', 0), ('work', 'work', 0)")
    first = engine.enqueue()
    engine.rows("update rolecall.tasks set line_id = (select max(id) from rolecall.lines)")
    second = engine.enqueue()

    assert ready(engine) == [first, second]
