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
def test_invalid_need_is_rejected(engine: Engine, needs: object) -> None:
    engine.enqueue()

    with refused("RC040"):
        engine.enqueue(needs=needs)
    assert len(engine.tasks()) == 1


def test_id_in_a_need_object_can_be_a_string(engine: Engine) -> None:
    needed = engine.enqueue()

    assert engine.state(engine.enqueue(needs=[{"task": str(needed)}])) == "blocked"


@pytest.mark.parametrize("kind", ["task", "chain"])
def test_missing_need_is_rejected(engine: Engine, kind: str) -> None:
    missing = engine.enqueue()
    engine.rows("delete from rolecall.tasks")

    with refused("RC040", f"needs {missing}, which does not exist"):
        engine.enqueue(needs=[{kind: missing}])
    assert engine.tasks() == []


def test_task_of_a_batch_can_need_only_earlier_ones(engine: Engine) -> None:
    """This prevents circles within a batch."""
    with refused("RC040", "can only need tasks that were enqueued before it"):
        engine.enqueue_many([{**WORK, "needs": [{"item": 1}]}, WORK])
    with refused("RC043", "would wait for itself"):
        engine.enqueue_many([{**WORK, "needs": [{"item": 0}]}])

    assert engine.tasks() == []


def test_future_id_as_need_is_rejected(engine: Engine) -> None:
    with refused("RC040", "can only need tasks that were enqueued before it"):
        engine.enqueue(needs=[10**6])


def test_two_needs_with_the_same_name_are_rejected(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([WORK, WORK])

    with refused("RC040", "the same name"):
        engine.enqueue(needs=[{"task": task_id, "name": "input"} for task_id in ids])


def test_task_can_have_at_most_ten_thousand_needs(engine: Engine) -> None:
    needed = engine.enqueue()

    assert engine.task(engine.enqueue(needs=[needed] * 10_000)).open_needs == 10_000
    with refused("RC040", "at most 10000"):
        engine.enqueue(needs=[needed] * 10_001)
