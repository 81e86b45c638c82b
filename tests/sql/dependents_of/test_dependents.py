"""The dependents of a chain are listed task by task."""

from __future__ import annotations

from typing import Any

from tests.sql.engine import Engine


def dependents(engine: Engine, chain_id: int, after: int | None = None, limit: int = 50) -> list[tuple[Any, ...]]:
    query = "select task_id, needed_id, whole_chain, state::text, outcome::text from rolecall.dependents_of(%s, %s, %s)"
    return engine.rows(query, chain_id, after, limit)


def test_dependents_of_the_chain_and_of_its_tasks_are_listed(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete_task(chain, continuation={"role": "work"})
    [second] = [task.id for task in engine.tasks() if task.chain_index == 1]
    of_first = engine.enqueue(needs=[chain])
    of_second = engine.enqueue(needs=[second])
    of_all = engine.enqueue(needs=[{"chain": chain}])
    engine.enqueue(needs=[engine.enqueue()])

    assert dependents(engine, chain) == [
        (of_first, chain, False, "pending", "completed"),
        (of_second, second, False, "blocked", None),
        (of_all, chain, True, "blocked", None),
    ]


def test_open_need_is_listed_if_there_are_several(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete_task(chain, continuation={"role": "work"})
    dependent = engine.enqueue(needs=[chain, {"chain": chain, "name": "all"}])

    assert dependents(engine, chain) == [(dependent, chain, True, "blocked", None)]


def test_page_continues_after_the_given_task(engine: Engine) -> None:
    chain = engine.enqueue()
    first, second, third = (engine.enqueue(needs=[chain]) for _ in range(3))

    assert [row[0] for row in dependents(engine, chain, limit=2)] == [first, second]
    assert [row[0] for row in dependents(engine, chain, after=second)] == [third]
