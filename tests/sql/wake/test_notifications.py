"""Notifications are sent only to roles with an idle worker, and only after the commit."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.costs import buffers
from tests.sql.engine import LEASE, Document, Engine

# A worker that becomes idle and busy alternately once a second, each in its own transaction, with heartbeats.
MARKS_EVERY_SECOND = """
do $$ begin
    for second in 1..{seconds} loop
        perform set_config('rolecall.fake_now', (rolecall.clock() + interval '1 s')::text, false);
        perform rolecall.set_idle_mark({worker}, second % 2 = 0);
        perform rolecall.beat({worker}, 0, second % 2 = 0);
        commit;
    end loop;
end $$
"""
Woken = Callable[[], list[str]]


@pytest.fixture
def woken(engine: Engine, session: Session) -> Woken:
    """Returns the roles notified since the last call."""
    listener = session()
    listener.rows("listen rolecall_wake")

    def roles() -> list[str]:
        # Earlier notifications arrive before the one of this call.
        engine.rows("select pg_notify('rolecall_wake', '.')")
        found: list[str] = []
        for notice in listener.connection.notifies(timeout=30):
            if notice.payload == ".":
                return found
            found.append(notice.payload)
        pytest.fail("the session's own notification did not arrive")

    return roles


def idle_worker(engine: Engine, *roles: str) -> int:
    worker = engine.worker(*roles)
    engine.rows("select rolecall.mark_idle(%s, true)", worker)
    return worker


def test_enqueue_wakes_the_role_of_an_idle_worker(engine: Engine, woken: Woken) -> None:
    idle_worker(engine, "work")
    engine.enqueue_many([{"role": "work"}] * 5)

    assert woken() == ["work"]


def test_enqueue_without_idle_workers_sends_no_notification(engine: Engine, woken: Woken) -> None:
    """Notifications must cost nothing while all workers are busy."""
    engine.worker("work")
    engine.enqueue()

    assert woken() == []


@pytest.mark.parametrize("dedupe", [None, {"mode": "replace"}, {"mode": "merge"}], ids=str)
def test_duplicate_wakes_its_role(engine: Engine, woken: Woken, dedupe: Document | None) -> None:
    """An unnecessary wake-up is harmless, but an earlier start time must wake a worker."""
    engine.enqueue(dedupe_key="d", after=60)
    idle_worker(engine, "work")
    engine.enqueue(dedupe_key="d", dedupe=dedupe)

    assert woken() == ["work"]


def test_rescheduled_task_wakes_its_own_role(engine: Engine, woken: Woken) -> None:
    engine.declare({"name": "other"})
    engine.enqueue("other", handler="work", dedupe_key="d", after=60)
    idle_worker(engine, "other")
    engine.enqueue("work", handler="work", dedupe_key="d", dedupe={"mode": "replace"})

    assert woken() == ["other"]


def test_worker_of_another_role_is_not_woken(engine: Engine, woken: Woken) -> None:
    engine.declare({"name": "other"})
    idle_worker(engine, "other")
    engine.enqueue()

    assert woken() == []


def test_worker_of_every_role_is_woken_for_each(engine: Engine, woken: Woken) -> None:
    engine.declare({"name": "other"})
    idle_worker(engine)
    engine.enqueue_many([{"role": "work"}, {"role": "other"}])

    assert sorted(woken()) == ["other", "work"]


def test_task_due_later_wakes_no_worker(engine: Engine, woken: Woken) -> None:
    idle_worker(engine)
    engine.enqueue(after=60)

    assert woken() == []


@pytest.mark.parametrize("minutes", [4, 6])
def test_worker_silent_for_five_minutes_is_not_woken(engine: Engine, woken: Woken, minutes: int) -> None:
    idle_worker(engine)
    engine.clock.advance(minutes=minutes)
    engine.enqueue()

    assert woken() == (["work"] if minutes == 4 else [])


def test_rolled_back_enqueue_leaves_no_task_and_wakes_no_worker(engine: Engine, woken: Woken) -> None:
    idle_worker(engine)
    engine.rows("begin")
    engine.enqueue()
    engine.rows("rollback")

    assert woken() == []
    assert engine.tasks() == []


def test_freed_key_wakes_the_role_of_the_parked_task(engine: Engine, woken: Woken) -> None:
    engine.declare({"name": "other"})
    engine.enqueue(key="k")
    claim = engine.claim_one()
    engine.enqueue("other", key="k")
    assert engine.claim(5) == []
    idle_worker(engine, "other")

    engine.complete(claim)

    assert woken() == ["other"]


def test_released_and_retried_tasks_wake_a_worker(engine: Engine, woken: Woken) -> None:
    idle_worker(engine)
    engine.enqueue()
    woken()
    engine.release(engine.claim_one())
    assert woken() == ["work"]
    claim = engine.claim_one()
    engine.fail(claim, final=True)
    assert woken() == []

    engine.retry(claim.id)

    assert woken() == ["work"]


def test_rescued_task_that_is_due_wakes_a_worker(engine: Engine, woken: Woken) -> None:
    engine.enqueue(retry={"kind": "linear", "step": 0})
    engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    idle_worker(engine)

    engine.rescue()

    assert woken() == ["work"]


def test_fired_schedule_wakes_a_worker(engine: Engine, woken: Woken) -> None:
    idle_worker(engine)
    engine.put_schedule()

    engine.fire_schedules()

    assert woken() == ["work"]


def chosen(payload: str) -> set[int]:
    role, _, ids = payload.partition(":")
    assert role == "work"
    return {int(worker) for worker in ids.split(",")}


@pytest.mark.parametrize(("tasks", "number"), [(1, 2), (5, 6), (9, 10)])
def test_one_more_idle_worker_is_woken_than_there_are_tasks(
    engine: Engine, woken: Woken, tasks: int, number: int
) -> None:
    """A single task must not make all workers claim at once."""
    idle = {idle_worker(engine, *roles) for roles in [("work",), ()] * 10}
    engine.enqueue_many([{"role": "work"}] * tasks)

    [payload] = woken()
    assert len(chosen(payload)) == number
    assert chosen(payload) < idle


@pytest.mark.parametrize("tasks", [2, 25])
def test_all_workers_are_woken_by_role_if_all_are_needed(engine: Engine, woken: Woken, tasks: int) -> None:
    for _ in range(2 if tasks == 2 else 30):
        idle_worker(engine, "work")
    engine.enqueue_many([{"role": "work"}] * tasks)

    assert woken() == ["work"]


def test_single_task_wakes_a_random_idle_worker(engine: Engine, woken: Woken) -> None:
    for _ in range(10):
        idle_worker(engine, "work")
        engine.clock.advance(seconds=5)
    for _ in range(80):
        engine.enqueue()

    assert len(set.union(*map(chosen, woken()))) == 10


def test_only_workers_with_the_handler_are_woken(engine: Engine, woken: Woken) -> None:
    for _ in range(5):
        idle_worker(engine, "work")
    engine.declare(handlers=[{"name": "new", "role": "work"}])
    able = {idle_worker(engine, "work") for _ in range(3)}
    engine.enqueue(handler="new")

    [payload] = woken()
    assert chosen(payload) < able


def test_idle_worker_that_adds_a_handler_is_woken_for_it(engine: Engine, woken: Woken) -> None:
    worker = idle_worker(engine, "work")
    engine.declare(handlers=[{"name": "new", "role": "work"}])
    engine.rows("select rolecall.serve(%s, '{work,new}')", worker)
    engine.enqueue(handler="new")

    assert woken() == ["work"]


def test_watching_dispatcher_is_notified_of_a_handler_declared_later(engine: Engine, woken: Woken) -> None:
    engine.rows("select rolecall.watch()")
    engine.declare(handlers=[{"name": "late", "role": "work"}])
    engine.enqueue(handler="late")

    assert woken() == ["work"]


def test_workers_with_old_idle_marks_are_woken_only_if_needed(engine: Engine, woken: Woken) -> None:
    """A task must not wait for a dead worker while others are alive."""
    dead = {idle_worker(engine, "work") for _ in range(9)}
    engine.clock.advance(seconds=61)
    alive = {idle_worker(engine, "work") for _ in range(3)}
    engine.enqueue()
    engine.enqueue_many([{"role": "work"}] * 3)

    two, four = map(chosen, woken())
    assert two < alive
    assert alive < four
    assert four - alive <= dead


def test_resumed_role_wakes_all_idle_workers(engine: Engine, woken: Woken) -> None:
    for _ in range(5):
        idle_worker(engine, "work")
    engine.rows("select rolecall.pause_role('work')")
    engine.rows("select rolecall.resume_role('work')")

    assert woken() == ["work"]


def test_idle_mark_is_removed_after_one_second_at_the_earliest(engine: Engine, woken: Woken) -> None:
    worker = idle_worker(engine, "work")
    for _ in range(2):
        engine.rows("select rolecall.mark_idle(%s, false)", worker)
        engine.enqueue()
        engine.clock.advance(seconds=2)

    assert woken() == ["work"]


def test_cost_of_an_enqueue_does_not_depend_on_old_idle_marks(engine: Engine) -> None:
    """It reads the marks of the last minutes only, however long the snapshot is held."""
    worker = idle_worker(engine, "work")
    engine.enqueue()
    costs = []
    with psycopg.connect(engine.database) as other:
        other.execute("set transaction isolation level repeatable read")
        other.execute("select count(*) from rolecall.idle_marks")
        for minutes in (6, 30):
            engine.rows(MARKS_EVERY_SECOND.format(worker=worker, seconds=60 * minutes))
            costs.append(buffers(engine, "select rolecall.wake_lines(array(select id from rolecall.lines))"))

    assert costs[1] <= 2 * costs[0]


def test_full_worker_wakes_others_for_due_tasks_and_is_not_idle(engine: Engine, woken: Woken) -> None:
    full = idle_worker(engine, "work")
    engine.enqueue()
    assert woken() == ["work"]
    idle_worker(engine, "work")

    engine.rows("select rolecall.wake_others(%s, '{work}', '{work}')", full)

    assert woken() == ["work"]
    assert engine.rows("select worker_id from rolecall.idle_marks where worker_id = %s", full) == []


def test_full_worker_wakes_no_others_without_due_tasks(engine: Engine, woken: Woken) -> None:
    full, _ = idle_worker(engine, "work"), idle_worker(engine, "work")

    engine.rows("select rolecall.wake_others(%s, '{work}', '{work}')", full)

    assert woken() == []


def test_full_worker_sends_no_notification_without_other_idle_workers(engine: Engine, woken: Woken) -> None:
    full = idle_worker(engine, "work")
    engine.enqueue()
    woken()

    engine.rows("select rolecall.wake_others(%s, '{work}', '{work}')", full)

    assert woken() == []
