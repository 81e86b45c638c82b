"""A task can be deleted alone if it is its whole chain."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine
from tests.sql.invariants import check


def delete(engine: Engine, task_id: int) -> int:
    gone: int = engine.value("select rolecall.delete_task(%s)", task_id)
    return gone


def refusal_of(engine: Engine, task_id: int) -> str | None:
    before = engine.tasks()
    with pytest.raises(psycopg.Error) as refusal:
        delete(engine, task_id)
    assert engine.tasks() == before
    return refusal.value.sqlstate


def test_deleting_a_task_deletes_its_children(engine: Engine) -> None:
    engine.enqueue()
    parent = engine.claim_one()
    engine.complete(parent, next={"children": [{"role": "work"}] * 2})

    assert delete(engine, parent.id) == 3
    assert engine.tasks() == []
    check(engine)


def test_finished_task_can_be_deleted(engine: Engine) -> None:
    task = engine.enqueue()
    engine.complete_task(task)

    assert delete(engine, task) == 1
    assert engine.tasks() == []


@pytest.mark.parametrize("which", [0, 1])
def test_task_of_a_longer_chain_is_not_deleted(engine: Engine, which: int) -> None:
    chain = engine.enqueue()
    engine.complete_task(chain, continuation={"role": "work"})
    of_chain = sorted(task.id for task in engine.tasks())

    assert refusal_of(engine, of_chain[which]) == "RC007"


def test_task_needed_by_an_open_task_is_not_deleted(engine: Engine) -> None:
    needed = engine.enqueue()
    engine.enqueue(needs=[needed])

    assert refusal_of(engine, needed) == "RC005"


def test_missing_task_is_rejected(engine: Engine) -> None:
    assert refusal_of(engine, 4711) == "RC002"
