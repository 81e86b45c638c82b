"""Operators retry children and parents."""

from __future__ import annotations

from tests.sql.engine import Engine
from tests.sql.families import WORK, family, finish_off, parent_of, spread


def test_retried_child_of_a_waiting_parent_is_counted_again(engine: Engine) -> None:
    parent_id, (first, second) = family(engine, 2)
    claims = engine.claim_all()
    engine.fail(claims[first], final=True)
    engine.retry(first)
    count = engine.task(parent_id).open_children
    engine.complete(claims[second])
    waits = engine.state(parent_id)
    engine.complete(engine.claim_one())

    assert (count, waits, engine.state(parent_id)) == (2, "waiting", "completed")


def test_retried_child_does_not_reopen_its_finished_parent(engine: Engine) -> None:
    parent_id, (child,) = family(engine, 1)
    engine.fail(engine.claim_one(), final=True)
    engine.retry(child)
    finish_off(engine)

    assert (engine.state(child), engine.state(parent_id)) == ("completed", "failed")


def test_retried_parent_spawns_new_children_and_ignores_old_failures(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)
    engine.fail(engine.claim_one(), final=True)
    engine.retry(parent_id)
    spread(engine, engine.claim_one(), WORK)
    finish_off(engine)

    assert engine.state(parent_id) == "completed"
    assert [child.state for child in engine.children(parent_id)] == ["failed", "completed"]


def test_retried_parent_starts_with_its_first_step(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, gathers=True)
    engine.complete(engine.claim_one())
    engine.fail(engine.claim_one(), final=True)
    engine.retry(parent_id)

    assert engine.claim_one().step == 0


def test_infos_of_old_children_are_ignored_by_a_retried_parent(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)
    claim = engine.claim_one()
    engine.report_info(claim, {"rows": 100})
    engine.fail(claim, final=True)
    engine.retry(parent_id)
    spread(engine, engine.claim_one(), WORK)
    claim = engine.claim_one()
    engine.report_info(claim, {"rows": 1})
    engine.complete(claim)

    assert engine.task(parent_id).info == {"rows": 1}


def test_retried_task_without_children_keeps_its_info(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.report_info(claim, {"page": 3})
    engine.fail(claim, final=True)
    engine.retry(task_id)

    assert engine.task(task_id).info == {"page": 3}


def test_retried_parent_waits_for_children_that_still_run(engine: Engine) -> None:
    parent_id = engine.enqueue()
    claim = engine.claim_one()
    engine.spawn(parent_id, WORK)
    child = engine.claim_one()
    engine.fail(claim, final=True)
    engine.retry(parent_id)
    count = engine.task(parent_id).open_children
    engine.complete(engine.claim_one())
    waits = engine.state(parent_id)
    engine.report(child, "cancelled")

    assert (count, waits, engine.state(parent_id)) == (1, "waiting", "completed")


def test_parent_retried_together_with_its_child_waits_for_it(engine: Engine) -> None:
    parent_id, (child,) = family(engine, 1)
    engine.fail(engine.claim_one(), final=True)
    engine.retry(parent_id, child)
    claims = engine.claim_all()
    [new] = spread(engine, claims[parent_id], WORK)
    count = engine.task(parent_id).open_children
    engine.complete(claims[child])
    waits = engine.state(parent_id)
    finish_off(engine)

    assert (count, waits) == (2, "waiting")
    assert (engine.state(new), engine.state(parent_id)) == ("completed", "completed")


def test_retried_tree_completes_entirely(engine: Engine) -> None:
    root = engine.enqueue()
    spread(engine, engine.claim_one(), WORK, WORK)
    spread(engine, engine.claim_one(), WORK, WORK)
    engine.cancel(root)
    everything = list(engine.states())
    engine.retry(*everything)

    assert sorted(finish_off(engine)) == everything
    assert set(engine.states().values()) == {"completed"}


def test_retried_serial_child_does_not_block_later_ones(engine: Engine) -> None:
    parent_id, (first, second) = parent_of(engine, WORK, WORK, serial=True)
    engine.fail(engine.claim_one(), final=True)
    engine.retry(first)

    assert sorted(finish_off(engine)) == [first, second]
    assert engine.state(parent_id) == "completed"
