"""A duplicate of an existing task does not become a child."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK, finish_off, parent_of, spread

TWIN = {**WORK, "dedupe_key": "d"}


def test_parent_does_not_wait_for_a_duplicate_child(engine: Engine) -> None:
    twin = engine.enqueue(after=600, dedupe_key="d")
    parent_id, (child,) = parent_of(engine, TWIN, WORK)

    assert engine.task(parent_id).open_children == 1
    assert finish_off(engine) == [child]
    assert (engine.state(parent_id), engine.task(twin).parent_id) == ("completed", None)


def test_parent_with_only_duplicate_children_completes_immediately(engine: Engine) -> None:
    """No finishing child would resume the parent."""
    engine.enqueue(after=600, dedupe_key="d")
    parent_id, children = parent_of(engine, TWIN)

    assert (engine.state(parent_id), children) == ("completed", [])


def test_parent_with_only_duplicate_children_gathers_immediately(engine: Engine) -> None:
    engine.enqueue(after=600, dedupe_key="d")
    parent_id, _ = parent_of(engine, TWIN, gathers=True)

    assert (engine.claim_one().id, engine.task(parent_id).step) == (parent_id, 1)


def test_duplicates_in_one_batch_of_children_are_one_child(engine: Engine) -> None:
    parent_id, children = parent_of(engine, TWIN, TWIN, TWIN)

    assert (len(children), engine.task(parent_id).open_children) == (1, 1)
    finish_off(engine)
    assert engine.state(parent_id) == "completed"


@pytest.mark.parametrize("serial", [False, True])
def test_duplicate_siblings_are_not_counted(engine: Engine, serial: bool) -> None:
    engine.enqueue(after=600, dedupe_key="d")
    parent_id, _ = parent_of(engine, WORK, serial=serial)
    engine.complete(engine.claim_one(), next={"siblings": [TWIN]})

    assert engine.state(parent_id) == "completed"


def test_spawning_a_duplicate_returns_the_id_of_the_existing_task(engine: Engine) -> None:
    twin = engine.enqueue(after=600, dedupe_key="d")
    parent_id, (child,) = parent_of(engine, WORK)

    assert engine.spawn(parent_id, TWIN) == [twin]
    assert engine.task(parent_id).open_children == 1
    assert finish_off(engine) == [child]
    assert engine.state(parent_id) == "completed"


def test_sibling_can_have_the_dedupe_key_of_the_task_that_spawns_it(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, TWIN)
    engine.complete(engine.claim_one(), next={"siblings": [TWIN]})

    assert engine.task(parent_id).open_children == 1
    finish_off(engine)
    assert engine.state(parent_id) == "completed"


def test_child_with_the_dedupe_key_of_its_parent_is_a_duplicate(engine: Engine) -> None:
    parent_id = engine.enqueue(dedupe_key="d")
    children = spread(engine, engine.claim_one(), TWIN)

    assert (children, engine.state(parent_id)) == ([], "completed")
