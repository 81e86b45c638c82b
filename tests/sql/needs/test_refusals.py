"""Invalid needs are rejected when they are declared."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK
from tests.sql.refusals import refused


@pytest.mark.parametrize(
    "needs",
    [
        7,
        {"task": 1},
        [None],
        ["1"],
        [-1],
        [1.5],
        [{}],
        [{"task": 1, "chain": 1}],
        [{"task": "x"}],
        [{"task": None}],
        [{"task": 1, "on_failure": "retry"}],
        [{"item": 5}],
        [10**30],
    ],
    ids=str,
)
def test_what_is_no_need_is_refused(engine: Engine, needs: object) -> None:
    engine.enqueue()

    with refused("RC040"):
        engine.enqueue(needs=needs)
    assert len(engine.tasks()) == 1


def test_an_id_may_come_as_text_inside_an_object(engine: Engine) -> None:
    needed = engine.enqueue()

    assert engine.state(engine.enqueue(needs=[{"task": str(needed)}])) == "blocked"


@pytest.mark.parametrize("kind", ["task", "chain"])
def test_needing_what_does_not_exist_is_refused(engine: Engine, kind: str) -> None:
    missing = engine.enqueue()
    engine.rows("delete from rolecall.tasks")

    with refused("RC040", f"needs {missing}, which does not exist"):
        engine.enqueue(needs=[{kind: missing}])
    assert engine.tasks() == []


def test_a_task_of_a_batch_needs_only_those_before_it(engine: Engine) -> None:
    """This prevents circles within a batch."""
    with refused("RC040", "only what was enqueued before it"):
        engine.enqueue_many([{**WORK, "needs": [{"item": 1}]}, WORK])
    with refused("RC043", "would wait for itself"):
        engine.enqueue_many([{**WORK, "needs": [{"item": 0}]}])

    assert engine.tasks() == []


def test_a_new_task_needs_none_that_is_to_come(engine: Engine) -> None:
    with refused("RC040", "only what was enqueued before it"):
        engine.enqueue(needs=[10**6])


def test_two_needs_of_one_name_are_refused(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([WORK, WORK])

    with refused("RC040", "the same name"):
        engine.enqueue(needs=[{"task": task_id, "name": "input"} for task_id in ids])


def test_a_task_needs_ten_thousand_others_at_most(engine: Engine) -> None:
    needed = engine.enqueue()

    assert engine.task(engine.enqueue(needs=[needed] * 10_000)).open_needs == 10_000
    with refused("RC040", "at most 10000"):
        engine.enqueue(needs=[needed] * 10_001)
