"""Offers: tasks that can be handed to workers, without a claim."""

from __future__ import annotations

from typing import Any

from tests.sql.engine import Engine


def test_due_tasks_are_offered_best_first(engine: Engine) -> None:
    low, high = engine.enqueue(), engine.enqueue(priority=5)
    engine.clock.advance(seconds=1)
    newer, _later = engine.enqueue(), engine.enqueue(after=10)

    assert engine.offers() == [high, low, newer]
    assert {task.state for task in engine.tasks()} == {"pending"}


def test_offer_contains_all_fields_of_a_message(engine: Engine) -> None:
    task_id = engine.enqueue(key="store", priority=3)
    engine.fail(engine.claim_one())
    engine.clock.advance(seconds=60)

    [offer] = engine.rows("select * from rolecall.offers('{}', null, 5, 3)")

    assert offer == (task_id, "work", "work", 3, True, 2, "store", engine.task(task_id).scheduled_for)


def test_unclaimable_tasks_are_not_offered(engine: Engine) -> None:
    running = engine.enqueue()
    engine.claim_one()
    engine.enqueue(needs=[running])
    engine.declare({"name": "paused"})
    engine.enqueue("paused")
    engine.rows("select rolecall.pause_role('paused')")

    assert engine.offers() == []


def test_only_the_best_task_of_a_free_key_is_offered(engine: Engine) -> None:
    best, _other = (engine.enqueue(key="store") for _ in range(2))
    free = engine.enqueue()
    assert engine.offers() == [best, free]
    [claim], _ = engine.claim_these(best)

    assert engine.offers() == [free]
    engine.complete(claim)
    assert len(engine.offers()) == 2


def test_task_waiting_for_a_full_key_is_parked(engine: Engine) -> None:
    engine.enqueue(key="store")
    claim = engine.claim_one()
    waiting = engine.enqueue(key="store")

    assert engine.offers() == []
    assert engine.task(waiting).status == "parked"
    engine.complete(claim)
    assert engine.offers() == [waiting]


def test_tasks_of_a_key_are_offered_up_to_its_capacity(engine: Engine) -> None:
    engine.rows("select rolecall.set_key_capacity('store', 2)")
    ids = [engine.enqueue(key="store") for _ in range(30)]

    assert engine.offers(3) == ids[:2]


def test_task_in_an_unserved_role_does_not_block_offers_of_its_key(engine: Engine) -> None:
    engine.declare({"name": "other"})
    other, mine = engine.enqueue("other", key="store"), engine.enqueue(key="store")

    assert engine.offers() == [other, mine]


def test_parked_task_of_a_free_key_is_offered(engine: Engine) -> None:
    forgotten = engine.enqueue(key="store")
    engine.rows("update rolecall.tasks set parked = true")
    engine.enqueue(key="store")

    assert engine.offers() == [forgotten]


def test_each_role_and_band_is_offered_up_to_the_limit(engine: Engine) -> None:
    engine.declare({"name": "other"})
    for role in ("work", "other"):
        for priority in (0, 1, 9):
            engine.enqueue_many([{"role": role, "priority": priority}] * 5)

    def number(*given: Any) -> dict[tuple[str, bool], int]:
        query = "select role, high, count(*) from rolecall.offers(%s, null, 3, %s) group by 1, 2"
        return {(role, high): count for role, high, count in engine.rows(query, *given)}

    assert number([], 1) == {(role, high): 3 for role in ("work", "other") for high in (True, False)}
    assert number(["work"], None) == {("work", False): 3}


def test_tasks_of_unknown_handlers_are_not_offered(engine: Engine) -> None:
    known, newer = engine.enqueue(), engine.enqueue(handler="newer")

    assert engine.offers(10, handlers=["work"]) == [known]
    assert engine.offers() == [known, newer]
