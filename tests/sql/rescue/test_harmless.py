"""Workers that may be alive: only tasks that can safely run twice are returned."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.engine import LEASE, WORK, Engine

FREE = {**WORK, "name": "free", "idempotent": True}


@pytest.fixture(autouse=True)
def roles(engine: Engine) -> None:
    engine.declare(FREE)


def rescue_harmless(engine: Engine, *workers: int) -> dict[int, str]:
    return dict(engine.rows("select task_id, state::text from rolecall.rescue_harmless(%s)", list(workers)))


def held(engine: Engine, role: str = "free", *, start: int | None = None, **words: Any) -> tuple[int, int]:
    """Return a task that a worker claimed more than ten seconds ago, and that worker."""
    task_id, worker = engine.enqueue(role, **words), engine.worker()
    engine.claim(1, worker=worker, start=start)
    engine.clock.advance(seconds=11)
    return task_id, worker


def test_started_task_of_an_idempotent_role_is_returned(engine: Engine) -> None:
    task_id, worker = held(engine)

    assert rescue_harmless(engine, worker) == {task_id: "pending"}
    assert (engine.task(task_id).attempt, engine.task(task_id).error) == (1, "its worker has no session left")


@pytest.mark.parametrize(
    ("role", "words"),
    [("work", {}), ("free", {"key": "k"}), ("free", {"max_attempts": 1})],
    ids=["not idempotent", "with a key", "last attempt"],
)
def test_started_task_that_must_not_run_twice_waits_for_its_lease(
    engine: Engine, role: str, words: dict[str, Any]
) -> None:
    task_id, worker = held(engine, role, **words)

    assert rescue_harmless(engine, worker) == {}
    assert engine.state(task_id) == "running"


@pytest.mark.parametrize("words", [{}, {"key": "k"}], ids=["without a key", "with a key"])
def test_unstarted_task_is_returned_and_refunded(engine: Engine, words: dict[str, Any]) -> None:
    task_id, worker = held(engine, "work", start=0, **words)

    assert rescue_harmless(engine, worker) == {task_id: "pending"}
    assert engine.task(task_id).attempt == 0


def test_task_that_its_worker_can_still_start_is_not_returned(engine: Engine) -> None:
    """A worker starts a task up to ten seconds after claiming it or renewing its lease."""
    task_id, worker = held(engine, "work", start=0)
    engine.rows("select * from rolecall.renew(%s, %s, '{1}')", worker, [task_id])
    engine.clock.advance(seconds=9)

    assert rescue_harmless(engine, worker) == {}


def test_unstarted_task_whose_lease_ends_at_its_deadline_waits_for_it(engine: Engine) -> None:
    """Such a lease does not show when the task was last claimed or renewed."""
    engine.declare({**WORK, "name": "short", "timeout": LEASE / 2})
    _, worker = held(engine, "short", start=0)

    assert rescue_harmless(engine, worker) == {}


def test_unregistered_worker_can_renew_the_tasks_that_it_keeps(engine: Engine) -> None:
    task_id = engine.enqueue(key="k")
    claim = engine.claim_one()

    rescue_harmless(engine, claim.worker_id)

    assert engine.value("select stopped_at is not null from rolecall.workers where id = %s", claim.worker_id)
    assert engine.renew(claim) == {}
    assert engine.complete(claim) is None
    assert engine.state(task_id) == "completed"


def test_idempotent_setting_is_kept_until_declared_again(engine: Engine) -> None:
    engine.declare({"name": "free", "description": "as before"})
    stored = "select idempotent from rolecall.roles where name = 'free'"
    assert engine.value(stored) is True

    engine.declare({"name": "free", "idempotent": False})
    assert engine.value(stored) is False
