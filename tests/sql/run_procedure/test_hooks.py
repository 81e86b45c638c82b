"""The hooks before and after a procedure: when they run, and that their errors have no effect."""

from __future__ import annotations

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, Engine
from tests.sql.procedures import NEVER, declare, handler, hook, procedure, process, run, run_one, spawning

NOTE = "insert into shop.notes values ('{}', rolecall.current_task(), (select state from rolecall.all_tasks where id = rolecall.current_task()));"


@pytest.fixture
def noted(engine: Engine) -> Engine:
    """The engine with two hooks that record the task and its state."""
    engine.rows("create schema shop")
    engine.rows("create table shop.notes (hook text, task_id bigint, state text)")
    hook(engine, "before", NOTE.format("before"))
    hook(engine, "after", NOTE.format("after"))
    return engine


def notes(engine: Engine) -> list[tuple[str, int, str]]:
    return [(name, task_id, state) for name, task_id, state in engine.rows("select * from shop.notes")]


def test_hooks_run_before_the_task_and_after_its_completion(noted: Engine) -> None:
    handler(noted, "null;", before="shop.before", after="shop.after")

    task_id, _ = run_one(noted)

    assert notes(noted) == [("before", task_id, "running"), ("after", task_id, "completed")]


def test_work_of_the_before_hook_is_visible_while_the_procedure_runs(noted: Engine, session: Session) -> None:
    """It is committed before the procedure starts."""
    handler(noted, "null;", before="shop.before")
    task_id = noted.enqueue(handler="count")
    claim = noted.claim_one()

    noted.rows("select rolecall.run_before_hook(%s, %s, %s)", claim.worker_id, claim.id, claim.fence)

    assert notes(session()) == [("before", task_id, "running")]


def test_after_hook_runs_for_a_failed_task(noted: Engine) -> None:
    handler(noted, "perform 1 / 0;", after="shop.after", retry=NEVER)

    task_id, _ = run_one(noted)

    assert notes(noted) == [("after", task_id, "failed")]


def test_after_hook_does_not_run_if_the_task_is_retried(noted: Engine) -> None:
    handler(noted, "perform 1 / 0;", after="shop.after")

    run_one(noted)

    assert notes(noted) == []


def test_after_hook_of_a_parent_runs_when_the_parent_finishes(noted: Engine) -> None:
    """It does not run when the procedure of the parent returns."""
    procedure(noted, "leaf", "null;")
    declare(noted, "leaf")
    handler(noted, spawning([{"handler": "leaf"}]), after="shop.after")
    parent, _ = run_one(noted)
    assert (noted.task(parent).state, notes(noted)) == ("waiting", [])

    run(noted, noted.claim_one())

    assert notes(noted) == [("after", parent, "completed")]


def test_after_hook_runs_for_a_task_failed_by_a_rescue(noted: Engine) -> None:
    handler(noted, "null;", after="shop.after", max_attempts=1)
    task_id = noted.enqueue(handler="count")
    noted.claim_one()
    noted.rescue()
    noted.clock.advance(seconds=2 * LEASE)

    noted.rescue()

    assert notes(noted) == [("after", task_id, "failed")]


def test_after_hook_does_not_run_for_a_cancelled_task(noted: Engine) -> None:
    handler(noted, "null;", after="shop.after")

    noted.cancel(noted.enqueue(handler="count"))

    assert notes(noted) == []


@pytest.mark.parametrize("where", ["before", "after"])
def test_error_in_a_hook_is_only_a_warning(noted: Engine, where: str) -> None:
    warnings: list[str] = []
    hook(noted, where, f"{NOTE.format(where)} raise exception 'no bell to ring';")
    handler(noted, "info := '{\"done\": 1}';", **{where: f"shop.{where}"})

    noted.connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary or ""))

    task_id, end = run_one(noted)

    assert (noted.task(task_id).state, end.error, notes(noted)) == ("completed", None, [])
    assert warnings == [f"hook shop.{where} of task {task_id} failed: no bell to ring"]


def test_drain_runs_the_hooks(noted: Engine) -> None:
    handler(noted, "null;", before="shop.before", after="shop.after")
    task_id = noted.enqueue(handler="count")

    process(noted)

    assert notes(noted) == [("before", task_id, "running"), ("after", task_id, "completed")]
