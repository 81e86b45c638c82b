"""Dead workers: their tasks are released immediately, as after an expired lease."""

from __future__ import annotations

from tests.sql.conftest import Session
from tests.sql.engine import START, TIMEOUT, Engine


def rescue_workers(engine: Engine, *workers: int) -> dict[int, str]:
    return dict(engine.rows("select task_id, state::text from rolecall.rescue_workers(%s)", list(workers)))


def registered_workers(engine: Engine) -> list[int]:
    return [worker_id for (worker_id,) in engine.rows("select id from rolecall.all_workers where active order by id")]


def test_tasks_of_a_dead_worker_are_released_before_their_lease_expires(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()

    assert rescue_workers(engine, claim.worker_id) == {task_id: "pending"}

    task = engine.task(task_id)
    assert (task.attempt, task.worker_id, task.error) == (1, None, "its worker died")
    assert engine.events(task_id) == ["crashed"]


def test_attempts_of_unstarted_tasks_are_refunded(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 2)
    worker = engine.worker()
    begun, _ = engine.claim(2, worker=worker, start=2)
    engine.start(begun)

    rescue_workers(engine, worker)

    assert [engine.task(task_id).attempt for task_id in ids] == [1, 0]
    assert [engine.value("select refunds from rolecall.tasks where id = %s", task_id) for task_id in ids] == [0, 1]


def test_task_that_kills_its_workers_fails_after_its_last_attempt(engine: Engine) -> None:
    poison = engine.enqueue(max_attempts=2)
    states = []
    for _ in range(2):
        engine.clock.advance(hours=1)
        states.append(rescue_workers(engine, engine.claim_one().worker_id))

    assert states == [{poison: "pending"}, {poison: "failed"}]
    assert engine.task(poison).error == "its worker died"


def test_cancelled_or_timed_out_task_of_a_dead_worker_ends_accordingly(engine: Engine) -> None:
    cancelled, late = engine.enqueue_many([{"role": "work"}, {"role": "work"}])[0]
    worker = engine.worker()
    engine.claim(2, worker=worker)
    engine.cancel(cancelled)
    engine.clock.set(START)
    engine.clock.advance(seconds=TIMEOUT + 1)

    assert rescue_workers(engine, worker) == {cancelled: "cancelled", late: "pending"}
    assert engine.events(late) == ["timeout"]


def test_dead_workers_are_unregistered_immediately(engine: Engine) -> None:
    dead, alive = engine.worker(name="dead"), engine.worker(name="alive")
    for worker in (dead, alive):
        engine.rows("select rolecall.mark_idle(%s, true)", worker)

    assert rescue_workers(engine, dead) == {}

    assert registered_workers(engine) == [alive]
    assert engine.rows("select distinct worker_id from rolecall.idle_marks") == [(alive,)]
    assert engine.value("select sum(active_workers) from rolecall.capacity()") == 1


def test_task_of_a_worker_wrongly_declared_dead_is_completed_once(engine: Engine) -> None:
    """The live worker is notified, its late outcome is rejected, and it can register again."""
    task_id = engine.enqueue()
    live = engine.claim_one()

    rescue_workers(engine, live.worker_id)
    engine.clock.advance(hours=1)
    other = engine.claim_one()

    assert engine.renew(live) == {task_id: "taken"}
    assert engine.complete(live, result="late") == "taken"
    assert engine.complete(other, result="in time") is None
    assert engine.complete(live, result="later") == "completed"
    assert engine.task(task_id).result == "in time"
    assert engine.value("select known from rolecall.beat(%s, 0, false)", live.worker_id) is False


def test_worker_declared_dead_is_notified(engine: Engine) -> None:
    engine.enqueue()
    worker = engine.claim_one().worker_id
    for channel in ("rolecall_cancel", "rolecall_command"):
        engine.rows(f"listen {channel}")

    rescue_workers(engine, worker)

    output = {(each.channel, each.payload) for each in engine.connection.notifies(timeout=10, stop_after=2)}
    assert output == {("rolecall_cancel", str(worker)), ("rolecall_command", str(worker))}


def test_worker_whose_row_is_locked_is_not_declared_dead(engine: Engine, session: Session) -> None:
    """A heartbeat in progress locks the row."""
    worker = engine.worker()
    other = session()
    with other.connection.transaction():
        other.rows("select rolecall.beat(%s, 0, false)", worker)
        rescue_workers(engine, worker)

    assert registered_workers(engine) == [worker]


def test_locked_task_is_left_to_the_next_call(engine: Engine, session: Session) -> None:
    held, free = engine.enqueue_many([{"role": "work"}] * 2)[0]
    worker = engine.worker()
    engine.claim(2, worker=worker)
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", held)
        assert rescue_workers(engine, worker) == {free: "pending"}

    assert rescue_workers(engine, worker) == {held: "pending"}


def test_one_call_rescues_at_most_the_limit(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 5)
    worker = engine.worker()
    engine.claim(5, worker=worker)
    call = "select count(*) from rolecall.rescue_workers(%s, 3)"

    assert [engine.value(call, [worker]) for _ in range(3)] == [3, 2, 0]
