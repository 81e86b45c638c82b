"""The limits from which something is a problem."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.engine import START, Engine
from tests.sql.history.test_roll_up import begin, roll_up
from tests.sql.problems.pool import finish, found, kinds, pass_time, problems


def test_healthy_pool_has_no_problem(engine: Engine) -> None:
    worker = engine.worker()
    begin(engine)
    finish(engine, worker, 20)
    pass_time(engine, 60, [worker])

    assert problems(engine) == []


def test_standstill_behind_hanging_tasks_names_the_waiting_ones(engine: Engine) -> None:
    worker = engine.worker(slots=2)
    begin(engine)
    for _ in range(20):
        finish(engine, worker, 10)
    pass_time(engine, 20, [worker])
    engine.enqueue_many([{"role": "work"}] * 2)
    engine.claim(2, worker=worker)
    engine.enqueue_many([{"role": "work"}] * 2000)
    pass_time(engine, 120, [worker])

    [problem] = problems(engine)

    assert (problem["kind"], problem["number"], problem["figures"]["due"]) == ("hanging", 2, 2000)


def test_standstill_without_known_durations_is_a_problem_after_a_minute(engine: Engine) -> None:
    worker = engine.worker()
    begin(engine)
    engine.enqueue_many([{"role": "work"}] * 5)
    pass_time(engine, 50, [worker])
    assert problems(engine) == []
    pass_time(engine, 20, [worker])

    [problem] = problems(engine)

    assert (problem["kind"], problem["figures"]["is_standstill"]) == ("waiting", True)
    assert len(found(engine, role="work", state="ready")) == problem["number"] == 5


@pytest.mark.parametrize(("seconds", "expected"), [(200, []), (400, ["waiting"])])
def test_usual_wait_decides_how_long_tasks_may_wait(engine: Engine, seconds: int, expected: list[str]) -> None:
    """Tasks waited for 60 s in the past, so five times as long is a problem."""
    worker = engine.worker(slots=2)
    begin(engine)
    for _ in range(2):
        engine.enqueue_many([{"role": "work"}] * 10)
        engine.clock.advance(seconds=60)
        for claim in engine.claim(10, worker=worker):
            engine.complete(claim)
    engine.clock.advance(minutes=70)
    roll_up(engine)
    engine.enqueue_many([{"role": "work"}] * 5)
    engine.claim(1, worker=worker)
    pass_time(engine, seconds, [worker])
    engine.rows("update rolecall.tasks set started_at = rolecall.clock() where state = 'running'")

    assert kinds(engine) == expected


def test_long_backlog_that_shrinks_does_not_grow(engine: Engine) -> None:
    worker = engine.worker()
    begin(engine)
    engine.enqueue_many([{"role": "work"}] * 300)
    for _ in range(11):
        for claim in engine.claim(5, worker=worker):
            engine.complete(claim)
        pass_time(engine, 60, [worker])

    assert kinds(engine) == ["waiting"]


def test_durations_are_those_of_the_handler(engine: Engine) -> None:
    """A slow handler in a role of fast ones does not hang."""
    engine.declare(handlers=[{"name": name, "role": "work"} for name in ("fast", "slow")])
    worker = engine.worker(slots=2)
    begin(engine)
    for _ in range(5):
        finish(engine, worker, 20, handler="fast")
    for _ in range(10):
        engine.enqueue(handler="slow")
        claim = engine.claim_one(worker=worker)
        pass_time(engine, 50, [worker])
        engine.complete(claim)
    pass_time(engine, 20, [worker])
    fast, slow = engine.enqueue(handler="fast"), engine.enqueue(handler="slow")
    engine.claim(2, worker=worker)
    pass_time(engine, 100, [worker])

    assert found(engine, state="hanging") == [fast]
    assert slow not in found(engine, state="hanging")


def test_role_that_fails_as_usual_is_no_problem(engine: Engine) -> None:
    worker = engine.worker()
    begin(engine)
    for _ in range(40):
        finish(engine, worker, 9)
        finish(engine, worker, 1, "failed")
        pass_time(engine, 60, [worker])

    assert problems(engine) == []


def test_role_that_has_recovered_is_no_problem(engine: Engine) -> None:
    worker = engine.worker()
    begin(engine)
    finish(engine, worker, 10, "failed")
    pass_time(engine, 20, [worker])
    assert kinds(engine) == ["failing"]
    pass_time(engine, 120, [worker])
    finish(engine, worker, 10)
    pass_time(engine, 20, [worker])

    assert problems(engine) == []


def test_handlers_that_fail_for_the_same_reason_are_one_problem(engine: Engine) -> None:
    engine.declare({"name": "mail"})
    worker = engine.worker()
    begin(engine)
    for role in ("work", "mail"):
        finish(engine, worker, 10, "failed", role=role)
    pass_time(engine, 20, [worker])

    [problem] = problems(engine)

    assert (problem["roles"], problem["number"], problem["figures"]["error"]) == (["mail", "work"], 20, "KeyError")


def test_silent_worker_is_a_problem_after_a_minute(engine: Engine) -> None:
    silent, other = engine.worker(name="silent"), engine.worker(name="other", slots=2)
    begin(engine)
    pass_time(engine, 50, [other])
    assert problems(engine) == []
    pass_time(engine, 20, [other])

    [problem] = problems(engine)

    assert (problem["kind"], problem["workers"]) == ("silent_workers", [silent])
    assert problem["since"] == START


def test_replaced_worker_is_no_problem(engine: Engine) -> None:
    dead = engine.worker()
    engine.clock.advance(seconds=5)
    engine.rows("select from rolecall.rescue_workers(%s)", [dead])
    assert kinds(engine) == ["dead_workers"]
    engine.worker()

    assert problems(engine) == []


def test_worker_of_a_new_release_replaces_a_dead_one(engine: Engine) -> None:
    dead = engine.worker()
    engine.clock.advance(seconds=5)
    engine.rows("select from rolecall.rescue_workers(%s)", [dead])
    engine.declare(handlers=[{"name": "new", "role": "work"}])
    engine.worker()

    assert problems(engine) == []


def test_worker_that_was_ordered_to_leave_is_no_problem(engine: Engine) -> None:
    worker = engine.worker()
    engine.rows("select rolecall.command_worker(%s, 'decommission')", worker)
    engine.rows("select from rolecall.rescue_workers(%s)", [worker])

    assert problems(engine) == []


def test_dead_worker_is_part_of_the_problem_of_its_role(engine: Engine) -> None:
    engine.rows("select from rolecall.rescue_workers(%s)", [engine.worker()])
    engine.enqueue()
    engine.clock.advance(seconds=15)

    assert kinds(engine) == ["no_worker"]


def test_tasks_of_paused_roles_are_one_problem(engine: Engine) -> None:
    engine.declare({"name": "mail"})
    engine.worker()
    for role in ("work", "mail"):
        engine.enqueue(role)
        engine.rows("select rolecall.pause_role(%s, null, 'ada')", role)
    engine.clock.advance(seconds=15)

    [problem] = problems(engine)

    assert (problem["kind"], problem["roles"], problem["number"]) == ("paused", ["mail", "work"], 2)


def test_stalled_history_is_a_problem(engine: Engine) -> None:
    worker = engine.worker()
    begin(engine)
    until = engine.value("select moment from rolecall.history_until")
    engine.clock.set(until + timedelta(minutes=3))
    engine.rows("select rolecall.beat(%s, 0, false)", worker)

    [problem] = problems(engine)

    assert (problem["kind"], problem["since"]) == ("stalled_history", until)


def test_sql_worker_is_not_silent_while_it_runs_a_task(engine: Engine) -> None:
    engine.rows("update rolecall.workers set host = null where id = %s", engine.worker())
    engine.clock.advance(minutes=2)

    assert problems(engine) == []
