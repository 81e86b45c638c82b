"""Children added while the parent waits, by its children or from outside."""

from __future__ import annotations

import pytest

from tests.sql.engine import LEASE, Engine, report
from tests.sql.families import WORK, family, finish_off, parent_of, spread
from tests.sql.refusals import refused


def test_finishing_child_can_spawn_siblings(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)
    engine.complete(engine.claim_one(), next={"siblings": [WORK, WORK]})

    assert (engine.state(parent_id), engine.task(parent_id).open_children) == ("waiting", 2)
    finish_off(engine)
    assert engine.state(parent_id) == "completed"
    assert len(engine.children(parent_id)) == 3


def test_several_children_spawn_siblings_in_one_call(engine: Engine) -> None:
    parent_id, _ = family(engine, 3)
    claims = list(engine.claim_all().values())
    engine.finish(claims[0].worker_id, *(report(claim, "completed", next={"siblings": [WORK]}) for claim in claims))

    assert engine.task(parent_id).open_children == 3


@pytest.mark.parametrize("siblings", [None, []])
def test_empty_siblings_have_no_effect(engine: Engine, siblings: object) -> None:
    parent_id, _ = family(engine, 1)
    engine.complete(engine.claim_one(), next={"siblings": siblings})

    assert engine.state(parent_id) == "completed"


def test_child_can_have_siblings_and_children(engine: Engine) -> None:
    parent_id, (child,) = family(engine, 1)
    engine.complete(engine.claim_one(), next={"siblings": [WORK], "children": [WORK, WORK]})

    assert (engine.task(parent_id).open_children, engine.task(child).open_children) == (2, 2)


def test_task_without_a_parent_cannot_spawn_siblings(engine: Engine) -> None:
    engine.enqueue()

    with refused("RC044"):
        engine.complete(engine.claim_one(), next={"siblings": [WORK]})


def test_siblings_belong_to_the_claim_of_the_parent_that_spawned_the_child(engine: Engine) -> None:
    """Children of an earlier attempt do not make the next one fail."""
    engine.enqueue()
    first = engine.claim_one()
    [old] = engine.spawn(first.id, WORK)
    child = engine.claim_one()
    engine.clock.advance(seconds=LEASE - 1)
    engine.renew(child)
    engine.clock.advance(seconds=2)
    engine.rescue()
    engine.complete(child, next={"siblings": [WORK]})

    assert child.id == old
    assert engine.value("select parent_fence from rolecall.tasks where parent_id = %s", first.id) == first.fence


def test_children_are_added_to_a_waiting_parent_from_outside(engine: Engine) -> None:
    parent_id, (child,) = family(engine, 1)
    added = engine.spawn(parent_id, WORK, WORK)

    assert engine.task(parent_id).open_children == 3
    assert sorted(finish_off(engine)) == [child, *added]
    assert engine.state(parent_id) == "completed"


def test_children_are_added_to_a_running_task_from_outside(engine: Engine) -> None:
    parent_id = engine.enqueue()
    claim = engine.claim_one()
    [child] = engine.spawn(parent_id, WORK)
    engine.complete(claim, result="mine")

    assert engine.state(parent_id) == "waiting"
    assert finish_off(engine) == [child]
    assert engine.task(parent_id).result == "mine"


def test_running_task_with_only_finished_children_completes_immediately(engine: Engine) -> None:
    parent_id = engine.enqueue()
    claim = engine.claim_one()
    engine.spawn(parent_id, WORK)
    finish_off(engine)
    engine.complete(claim)

    assert engine.state(parent_id) == "completed"


def test_children_spawned_during_the_run_and_by_finish_are_counted_together(engine: Engine) -> None:
    parent_id = engine.enqueue()
    claim = engine.claim_one()
    engine.spawn(parent_id, WORK)
    spread(engine, claim, WORK, WORK)

    assert engine.task(parent_id).open_children == 3


def test_failing_child_spawned_during_the_run_fails_its_parent(engine: Engine) -> None:
    parent_id = engine.enqueue()
    claim = engine.claim_one()
    engine.spawn(parent_id, WORK)
    engine.fail(engine.claim_one(), final=True)
    engine.complete(claim)

    assert engine.state(parent_id) == "failed"


def test_spawning_no_children_has_no_effect(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)

    assert engine.spawn(parent_id) == []
    assert engine.task(parent_id).open_children == 1


@pytest.mark.parametrize("state", ["pending", "completed", "missing"])
def test_children_are_added_only_to_running_or_waiting_tasks(engine: Engine, state: str) -> None:
    task_id = engine.enqueue()
    if state == "completed":
        engine.complete(engine.claim_one())

    with refused("RC044", "is not running or waiting"):
        engine.spawn(task_id if state != "missing" else 404, WORK)


@pytest.mark.parametrize("drafts", [{"role": "work"}, 7, None], ids=str)
def test_spawning_a_non_array_is_rejected(engine: Engine, drafts: object) -> None:
    parent_id, _ = family(engine, 1)

    with refused("RC040"):
        engine.rows(
            "select rolecall.spawn(%s, %s::jsonb)", parent_id, None if drafts is None else str(drafts).replace("'", '"')
        )


def test_rolled_back_spawn_leaves_no_trace(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK)
    engine.rows("begin")
    engine.spawn(parent_id, WORK)
    engine.rows("rollback")
    finish_off(engine)

    assert engine.state(parent_id) == "completed"
