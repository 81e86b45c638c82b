"""Five incidents, each of which is exactly one problem within a minute, with the right tasks."""

from __future__ import annotations

from tests.sql.engine import Engine
from tests.sql.history.test_roll_up import begin
from tests.sql.problems.pool import finish, found, pass_time, problems


def test_fifteen_roles_without_a_worker_are_one_problem(engine: Engine) -> None:
    names = sorted(f"role-{number}" for number in range(15))
    engine.declare(*({"name": name} for name in names))
    worker = engine.worker("work")
    begin(engine)
    ids, _ = engine.enqueue_many([{"role": name} for name in names for _ in range(2)])
    pass_time(engine, 60, [worker])

    [problem] = problems(engine)

    assert (problem["kind"], problem["roles"], problem["number"]) == ("no_worker", names, 30)
    assert found(engine, role=",".join(names), state="ready") == ids


def test_backlog_that_grows_for_ten_minutes_is_one_problem(engine: Engine) -> None:
    worker = engine.worker()
    begin(engine)
    for _ in range(11):
        engine.enqueue_many([{"role": "work"}] * 20)
        for claim in engine.claim(5, worker=worker):
            engine.complete(claim)
        pass_time(engine, 60, [worker])

    [problem] = problems(engine)

    assert (problem["kind"], problem["roles"], problem["number"]) == ("growing", ["work"], 165)
    assert len(found(engine, role="work", state="ready")) == 165


def test_tasks_at_twenty_times_their_usual_time_are_one_problem(engine: Engine) -> None:
    worker = engine.worker(slots=8)
    begin(engine)
    for _ in range(3):
        finish(engine, worker, 8)
    pass_time(engine, 20, [worker])
    hanging, _ = engine.enqueue_many([{"role": "work"}] * 8)
    engine.claim(8, worker=worker)
    engine.enqueue_many([{"role": "work"}] * 100)
    pass_time(engine, 60, [worker])

    [problem] = problems(engine)

    assert (problem["kind"], problem["roles"], problem["number"]) == ("hanging", ["work"], 8)
    assert (problem["figures"]["due"], problem["figures"]["stuck_workers"]) == (100, 1)
    assert 1 <= problem["figures"]["usual_seconds"] < 1.3
    assert found(engine, state="hanging") == hanging


def test_role_that_fails_wholly_in_a_healthy_pool_is_one_problem(engine: Engine) -> None:
    engine.declare({"name": "fine"}, {"name": "mail"})
    worker = engine.worker()
    begin(engine)
    failed = []
    for _ in range(6):
        finish(engine, worker, 100, role="fine")
        failed += finish(engine, worker, 2, "failed", role="mail")
        pass_time(engine, 10, [worker])

    [problem] = problems(engine)

    assert (problem["kind"], problem["roles"], problem["number"]) == ("failing", ["mail"], 12)
    assert problem["figures"]["error"] == "KeyError"
    window = {"finished_from": problem["figures"]["from"], "finished_to": problem["figures"]["to"]}
    assert found(engine, role="mail", handler="mail", state="failed", **window) == failed


def test_killed_worker_is_one_problem(engine: Engine) -> None:
    workers = [engine.worker(name=name) for name in ("one", "two")]
    begin(engine)
    engine.enqueue()
    engine.claim_one(worker=workers[0])
    engine.rows("select from rolecall.rescue_workers(%s)", [workers[0]])
    for claim in engine.claim(1, worker=workers[1]):
        engine.complete(claim)
    pass_time(engine, 60, workers[1:])

    [problem] = problems(engine)

    assert (problem["kind"], problem["workers"], problem["number"]) == ("dead_workers", [workers[0]], 1)
