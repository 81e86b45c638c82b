"""An open transaction blocks only calls that need its locked rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from psycopg.types.json import Jsonb

from rolecall.db.run import translating_errors
from rolecall.model.errors import RowsBusy
from tests.sql.conftest import Session
from tests.sql.engine import Claim, Engine, report

# Calls that need a locked row give up long before this; calls that wait for the lock never return.
PATIENCE = "20s"
MANY = 60
Locks = Callable[[Engine, Engine], None]


@pytest.fixture
def gate(session: Session) -> Iterator[Engine]:
    """A session whose transaction stays open during the test."""
    gate = session()
    gate.rows("begin")
    yield gate
    gate.rows("rollback")


@pytest.fixture
def caller(session: Session) -> Engine:
    """A session that must not wait for it."""
    caller = session()
    caller.rows(f"set statement_timeout = '{PATIENCE}'")
    return caller


def hold(gate: Engine, task_id: int) -> None:
    gate.rows("select from rolecall.tasks where id = %s for update", task_id)


def family(engine: Engine, number: int = 1, **words: object) -> tuple[int, list[Claim]]:
    """Return a waiting parent, and the claims of its children by worker 1."""
    parent = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [{"role": "work", **words}] * number})
    return parent, engine.claim(number, worker=1)


def finish_free(engine: Engine, *claims: Claim, apart: bool = False) -> dict[int, str]:
    reports = Jsonb([report(claim, "completed") for claim in claims])
    return dict(engine.rows("select * from rolecall.finish_free(1, %s, %s)", reports, apart))


@contextmanager
def held_parent(engine: Engine, gate: Engine) -> Iterator[tuple[Claim, list[Claim]]]:
    """Lock the parent of a child; yield the claims of that child and of unrelated tasks, all by worker 1."""
    parent, [child] = family(engine)
    engine.enqueue_many([{"role": "work"}] * MANY)
    others = engine.claim(MANY, worker=1)
    hold(gate, parent)
    yield child, others


@pytest.mark.parametrize("apart", [False, True])
def test_only_the_outcome_that_needs_a_locked_row_is_busy(
    engine: Engine, gate: Engine, caller: Engine, apart: bool
) -> None:
    with held_parent(engine, gate) as (child, others):
        assert finish_free(caller, *others[:30], child, *others[30:], apart=apart) == {child.id: "busy"}

    assert {engine.state(claim.id) for claim in others} == {"completed"}
    assert engine.state(child.id) == "running"


def test_busy_outcome_is_stored_when_repeated(engine: Engine, gate: Engine, caller: Engine) -> None:
    parent, [child] = family(engine)
    hold(gate, parent)
    assert finish_free(caller, child) == {child.id: "busy"}
    gate.rows("rollback")

    assert finish_free(caller, child, apart=True) == {}
    assert (engine.state(child.id), engine.state(parent)) == ("completed", "completed")


def test_all_children_of_a_locked_parent_are_busy(engine: Engine, gate: Engine, caller: Engine) -> None:
    parent, children = family(engine, 25)
    engine.enqueue_many([{"role": "work"}] * MANY)
    others = engine.claim(MANY, worker=1)
    hold(gate, parent)

    verdicts = finish_free(caller, *others, *children)

    assert verdicts == dict.fromkeys([child.id for child in children], "busy")


def test_only_the_outcome_with_a_locked_key_is_busy(engine: Engine, gate: Engine, caller: Engine) -> None:
    keyed = engine.enqueue(key="k")
    engine.enqueue_many([{"role": "work"}] * 9)
    claims = engine.claim(10, worker=1)
    gate.rows("select from rolecall.keys for update")

    assert finish_free(caller, *claims) == {keyed: "busy"}


def test_busy_outcome_stores_no_follow_ups(engine: Engine, gate: Engine, caller: Engine) -> None:
    """The follow-up of an outcome that was undone is not stored either."""
    parent, [child] = family(engine)
    hold(gate, parent)
    draft = report(child, "completed", next={"follow_ups": [{"role": "work"}]})

    assert caller.rows("select * from rolecall.finish_free(1, %s)", Jsonb([draft])) == [(child.id, "busy")]
    assert [task.id for task in engine.tasks()] == [parent, child.id]


def test_lost_claim_next_to_a_busy_one_returns_its_reason(engine: Engine, gate: Engine, caller: Engine) -> None:
    with held_parent(engine, gate) as (child, [gone, *_]):
        engine.complete_task(gone.id)

        assert finish_free(caller, gone, child) == {gone.id: "completed", child.id: "busy"}


def test_rescue_skips_only_tasks_that_need_a_locked_row(engine: Engine, gate: Engine, caller: Engine) -> None:
    with held_parent(engine, gate) as (child, others):
        engine.rows("update rolecall.tasks set max_attempts = 1 where id = %s", child.id)
        engine.clock.advance(seconds=100)

        assert caller.rescue().keys() == {claim.id for claim in others}
    gate.rows("rollback")

    assert caller.rescue() == {child.id: "failed"}


def test_rescue_reaches_free_tasks_behind_many_locked_ones(engine: Engine, gate: Engine, caller: Engine) -> None:
    parent, _ = family(engine, 6, max_attempts=1)
    free = engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=100)
    hold(gate, parent)

    rescued = [set(caller.rescue(2)) for _ in range(100)]

    assert {free} in rescued


def test_claims_are_returned_except_locked_ones(engine: Engine, gate: Engine, caller: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 9)
    held, *others = engine.claim(9, worker=1)
    hold(gate, held.id)

    assert caller.release(held, *others) == {held.id: "busy"}
    assert {engine.state(claim.id) for claim in others} == {"pending"}


def test_deregistered_worker_returns_all_but_locked_tasks(engine: Engine, gate: Engine, caller: Engine) -> None:
    worker = engine.worker()
    engine.enqueue_many([{"role": "work"}] * 9)
    held, *others = engine.claim(9, worker=worker)
    hold(gate, held.id)

    assert caller.value("select rolecall.deregister_worker(%s)", worker) == 9
    assert {engine.state(claim.id) for claim in others} == {"pending"}
    assert engine.state(held.id) == "running"
    assert engine.value("select stopped_at is not null from rolecall.workers where id = %s", worker)


def cancel_another(engine: Engine, gate: Engine) -> None:
    gate.cancel(engine.enqueue())


def cancel_another_with_a_new_key(engine: Engine, gate: Engine) -> None:
    gate.cancel(engine.enqueue(key="new"))


def cancel_another_tree(engine: Engine, gate: Engine) -> None:
    parent, _ = family(engine, 3)
    gate.cancel(parent)


def end_another_tree(engine: Engine, gate: Engine) -> None:
    parent, _ = family(engine, 3)
    gate.complete_task(parent)


def retry_another(engine: Engine, gate: Engine) -> None:
    failed = engine.enqueue()
    engine.fail_task(failed)
    gate.retry(failed)


def spawn_under_another(engine: Engine, gate: Engine) -> None:
    parent, _ = family(engine)
    gate.spawn(parent, {"role": "work"})


@pytest.mark.parametrize(
    "act",
    [
        cancel_another, cancel_another_with_a_new_key, cancel_another_tree, end_another_tree, retry_another,
        spawn_under_another,
    ],
)  # fmt: skip
def test_operations_on_other_tasks_proceed_during_an_open_transaction(
    engine: Engine, gate: Engine, caller: Engine, act: Callable[[Engine, Engine], None]
) -> None:
    act(engine, gate)
    parent, children = family(engine, 2)
    failed = engine.enqueue()
    engine.fail_task(failed)
    single, keyed = engine.enqueue(), engine.enqueue(key="other")
    engine.put_schedule(overlap="cancel")
    engine.clock.advance(seconds=60)
    [(_, run)] = engine.fire_schedules()
    engine.clock.advance(seconds=60)

    assert caller.cancel(single, keyed) == {single: "cancelled", keyed: "cancelled"}
    assert caller.retry(failed) == {failed: "pending"}
    assert finish_free(caller, children[0]) == {}
    assert caller.complete_task(parent) == "completed"
    assert [name for name, _ in caller.fire_schedules()] == ["tick"]
    assert run is not None
    assert engine.state(run) == "cancelled"


HELD_ROWS = "select id from rolecall.tasks for update"
OPERATORS = {
    "cancel": ("select * from rolecall.cancel(array[%(task)s::bigint])", HELD_ROWS),
    "trigger": ("select * from rolecall.trigger(array[%(task)s::bigint])", HELD_ROWS),
    "complete": ("select rolecall.complete_task(%(task)s)", HELD_ROWS),
    "fail": ("select rolecall.fail_task(%(task)s)", HELD_ROWS),
    "complete chain": ("select rolecall.complete_chain(%(task)s)", HELD_ROWS),
    "hold chain": ("select rolecall.hold_chain(%(task)s)", HELD_ROWS),
    "delete": ("select rolecall.delete_task(%(task)s)", HELD_ROWS),
    "delete many": ("select * from rolecall.delete_tasks(array[%(task)s::bigint])", HELD_ROWS),
    "token": ("select rolecall.fail_by_token(%(token)s)", HELD_ROWS),
    "retry": ("select * from rolecall.retry(array[%(failed)s::bigint])", "select from rolecall.finished_tasks for update"),
    "pause": ("select * from rolecall.pause_role('work')", "select from rolecall.roles for update"),
    "resume": ("select rolecall.resume_role('work')", "select from rolecall.roles for update"),
    "capacity": ("select rolecall.set_key_capacity('k', 2)", "select from rolecall.keys for update"),
    "put schedule": ("select rolecall.put_schedule(%(schedule)s)", "select from rolecall.schedules for update"),
    "delete schedule": ("select rolecall.delete_schedule('tick')", "select from rolecall.schedules for update"),
    "trigger schedule": ("select rolecall.trigger_schedule('tick')", "select from rolecall.schedules for update"),
    "command": ("select rolecall.command_worker(%(worker)s, 'drain')", "select from rolecall.workers for update"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "held"), OPERATORS.values(), ids=OPERATORS)
def test_operator_call_fails_if_rows_stay_locked(
    engine: Engine, gate: Engine, caller: Engine, call: str, held: str
) -> None:
    failed = engine.enqueue()
    engine.fail_task(failed)
    engine.put_schedule()
    task_id = engine.enqueue(key="k", scheduled_for="2030-01-01T00:00:00Z")
    running = engine.enqueue(key="k")
    worker = engine.claim_one().worker_id
    token = engine.value("select rolecall.issue_token(%s)", running)
    result = Jsonb({"name": "tick", "role": "work", "every": 30})
    given = {"task": task_id, "failed": failed, "token": token, "worker": worker, "schedule": result}
    before = engine.rows("select id, state, scheduled_for from rolecall.all_tasks order by id")
    gate.rows(held)

    with pytest.raises(RowsBusy, match="nothing was changed"), translating_errors():
        caller.connection.execute(call.encode(), given)

    gate.rows("rollback")
    assert engine.rows("select id, state, scheduled_for from rolecall.all_tasks order by id") == before


@pytest.mark.parametrize("kind", ["interval", "cron"])
def test_schedule_blocked_by_a_lock_stays_due_while_others_run(
    engine: Engine, gate: Engine, caller: Engine, kind: str
) -> None:
    rhythm: dict[str, object] = {"every": 60} if kind == "interval" else {"every": None, "cron": "* * * * *"}
    engine.put_schedule("kept", overlap="cancel", **rhythm)
    engine.put_schedule("free", overlap="cancel", **rhythm)
    fire(engine, kind)
    run = engine.value("select last_task_id from rolecall.schedules where name = 'kept'")
    hold(gate, run)

    assert fire(caller, kind, engine) == ["free"]
    gate.rows("rollback")

    assert fire(caller, kind, engine, seconds=0) == ["kept"]
    assert engine.state(run) == "cancelled"


def fire(caller: Engine, kind: str, engine: Engine | None = None, seconds: float = 60) -> list[str]:
    """Advance the clock and fire due schedules; return the names of those processed."""
    (engine or caller).clock.advance(seconds=seconds)
    if kind == "interval":
        return sorted(name for name, _ in caller.fire_schedules())
    plans = """
    select coalesce(jsonb_agg(jsonb_build_object(
        'id', id, 'revision', revision, 'planned_from', next_run_at, 'slots', array[next_run_at], 'come', 1,
        'next', rolecall.clock() + interval '1 minute'
    )), '[]') from rolecall.schedules where next_run_at <= rolecall.clock()
    """
    return sorted(name for name, _ in caller.rows(f"select * from rolecall.fire_cron(({plans}))"))
