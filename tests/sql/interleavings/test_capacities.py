"""Setting the capacity of a key concurrently with claims and finishes of its tasks, in every order."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.conftest import Session
from tests.sql.engine import Engine
from tests.sql.interleavings.stage import Stage, commit, opening, rollback


def set_capacity(engine: Engine, pattern: str, capacity: int) -> None:
    engine.rows("select rolecall.set_key_capacity(%s, %s)", pattern, capacity)


def enqueue(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "store"}] * 4)


def running(engine: Engine) -> int:
    number: int = engine.value("select count(*) from rolecall.tasks where state = 'running'")
    return number


@pytest.mark.parametrize("is_known", [True, False])
def test_claim_during_a_capacity_change_does_not_wait_and_uses_all_permits(stage: Stage, is_known: bool) -> None:
    """An open transaction that sets the capacity of a key blocks no claim."""
    for play in stage.orders(2, 2):
        if is_known:
            stage.engine.rows("insert into rolecall.keys (key) values ('store')")
        enqueue(stage.engine)

        play.run(
            (opening(lambda engine: engine.claim(4, worker=1)), commit),
            (opening(lambda engine: set_capacity(engine, "store", 3)), commit),
        )

        assert play.waited <= {1}
        stage.engine.claim(4)
        assert running(stage.engine) == 3


def test_finish_during_a_capacity_change_leaves_no_permit_unused(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        enqueue(stage.engine)
        [holder] = stage.engine.claim(4)

        play.run(
            (opening(lambda engine: engine.complete(holder)), commit),
            (opening(lambda engine: set_capacity(engine, "store", 2)), commit),
        )

        stage.engine.claim(4)
        assert running(stage.engine) == 2


def test_tasks_parked_during_a_capacity_increase_are_unparked_without_an_event(
    engine: Engine, session: Session
) -> None:
    """A claim reads the patterns without a lock: only the next finish of a task of the key, or unpark, sees both."""
    enqueue(engine)
    claiming = session()
    claiming.rows("begin")
    [holder] = claiming.claim(4)
    set_capacity(engine, "*", 3)
    commit(claiming)
    assert running(engine) == 1

    assert engine.rows("select ids from rolecall.unpark()") == [([],)]

    assert engine.events(holder.id) == []
    assert len(engine.claim(4)) == 2


def test_concurrent_capacity_declaration_and_unpark_do_not_deadlock(stage: Stage) -> None:
    """The declaration locks keys in the common order."""
    for play in stage.orders(2, 1, 1):
        stage.engine.rows("truncate rolecall.key_patterns")
        stage.engine.enqueue_many([{"role": "work", "key": key} for key in "aazz"])
        stage.engine.claim(4)
        stage.engine.rows("insert into rolecall.key_patterns (prefix, capacity) values ('', 2)")

        answers = play.run(
            (opening(lambda engine: engine.rows("select from rolecall.keys where key = 'a' for update")), rollback),
            (lambda engine: engine.rows("select rolecall.unpark()"),),
            (lambda engine: engine.rows("select rolecall.declare_key_capacities(%s)", Jsonb({"*": 2, "z": 3})),),
        )

        assert [each for several in answers for each in several if isinstance(each, psycopg.Error)] == []
