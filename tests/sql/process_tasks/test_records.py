"""The stored and displayed fields of a task whose handler is in SQL."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import LEASE, START, Engine
from tests.sql.procedures import COUNT, NEVER, counted, declare, handler, procedure, process, run, spawning, table


def test_view_shows_all_fields_of_a_task(engine: Engine) -> None:
    handler(engine, "info := '{\"rows\": 3}';", description="Counts stores")
    task_id = engine.enqueue(handler="count", payload={"store": 7}, priority=2)
    engine.clock.advance(seconds=5)

    process(engine)

    task = engine.task(task_id)
    assert (task.role, task.handler, task.priority, task.payload) == ("work", "count", 2, {"store": 7})
    assert (task.state, task.error, task.info, task.attempt) == ("completed", None, {"rows": 3}, 1)
    assert (task.created_at, task.scheduled_for, task.parent_id, task.depth) == (START, START, None, 0)
    assert task.worker_id == engine.value("select id from rolecall.workers")
    assert task.claimed_at == task.started_at == task.finished_at == engine.clock.now()
    described = "select description from rolecall.procedures join rolecall.all_tasks on handler = name"
    assert engine.value(described) == "Counts stores"


def test_only_failed_tasks_have_an_error(engine: Engine) -> None:
    handler(engine, "perform 1 / (payload ->> 'n')::int;", retry=NEVER)
    failed, completed = (engine.enqueue(handler="count", payload={"n": n}) for n in (0, 1))

    process(engine)

    assert (engine.task(failed).state, engine.task(failed).error is None) == ("failed", False)
    assert (engine.task(completed).state, engine.task(completed).error is None) == ("completed", True)


def test_payload_must_be_an_object(engine: Engine) -> None:
    handler(engine, "null;")

    with pytest.raises(psycopg.Error, match="the payload is not an object"):
        engine.enqueue(handler="count", payload=[1])


def test_task_is_pending_running_waiting_and_completed_in_turn(engine: Engine) -> None:
    procedure(engine, "leaf", "null;")
    declare(engine, "leaf")
    handler(engine, spawning([{"handler": "leaf"}]))
    task_id = engine.enqueue(handler="count")
    states = [engine.state(task_id)]

    claim = engine.claim_one()
    states.append(engine.state(task_id))
    run(engine, claim)
    states.append(engine.state(task_id))
    run(engine, engine.claim_one())
    states.append(engine.state(task_id))

    assert states == ["pending", "running", "waiting", "completed"]


def test_crashed_task_has_no_effects_and_is_pending_again(engine: Engine) -> None:
    """There is no separate state; the crash is recorded in the history."""
    table(engine)
    handler(engine, COUNT)
    task_id = engine.enqueue(handler="count", payload={"n": 7})
    claim = engine.claim_one()
    with engine.connection.transaction(force_rollback=True):
        run(engine, claim)
    engine.rescue()
    engine.clock.advance(seconds=2 * LEASE)

    engine.rescue()

    assert (engine.state(task_id), engine.events(task_id), counted(engine)) == ("pending", ["crashed"], [])


def test_interrupted_task_is_pending_again_and_has_an_event(engine: Engine) -> None:
    """Interruption is an event, not a state."""
    handler(engine, "null;")
    task_id = engine.enqueue(handler="count")
    claim = engine.claim_one()

    engine.release(claim)

    assert (engine.task(task_id).state, engine.events(task_id)) == ("pending", ["shutdown"])


def test_interrupted_task_runs_before_later_ones(engine: Engine) -> None:
    handler(engine, "info := jsonb_build_object('turn', nextval('shop.turns'));")
    engine.rows("create sequence shop.turns")
    interrupted = engine.enqueue(handler="count")
    claim = engine.claim_one()
    engine.clock.advance(seconds=1)
    later = engine.enqueue(handler="count")
    engine.release(claim)
    engine.forget_floors()

    process(engine)

    assert (engine.task(interrupted).info, engine.task(later).info) == ({"turn": 1}, {"turn": 2})


def test_every_view_has_the_privileges_of_its_reader(engine: Engine) -> None:
    views = "select relname from pg_class where relnamespace = 'rolecall'::regnamespace and relkind = 'v'"

    assert engine.rows(f"{views} and not coalesce(reloptions @> '{{security_invoker=true}}', false)") == []
    assert len(engine.rows(views)) >= 3
