"""The running tasks of each pod's workers."""

from __future__ import annotations

from tests.sql.engine import Engine


def pod(engine: Engine, name: str, running: int = 0, claimed: int = 0) -> int:
    """Register a worker in a pod, with some running and some claimed tasks."""
    worker_id: int = engine.value(
        "select rolecall.register_worker('w', '{}', %s, 9, 'host', 1, '0', %s)", engine.handlers(), name
    )
    engine.enqueue_many([{"role": "work"}] * (running + claimed))
    claims = engine.claim(running + claimed, worker=worker_id, start=running)
    if running:
        engine.start(*claims[:running])
    return worker_id


def pods(engine: Engine, prefix: str = "set-") -> list[tuple[object, ...]]:
    return engine.rows("select * from rolecall.pods_at_work(%s)", prefix)


def test_each_pod_is_listed_with_its_workers_and_running_tasks(engine: Engine) -> None:
    first, second, third = pod(engine, "set-0", 1), pod(engine, "set-0", 2), pod(engine, "set-1")

    assert pods(engine) == [("set-0", [first, second], 3), ("set-1", [third], 0)]


def test_claimed_tasks_are_not_counted_as_running(engine: Engine) -> None:
    worker_id = pod(engine, "set-0", running=1, claimed=2)

    assert pods(engine) == [("set-0", [worker_id], 1)]


def test_other_pods_are_excluded(engine: Engine) -> None:
    pod(engine, "another-set-0")
    pod(engine, "Set-0")

    assert pods(engine) == []


def test_stopped_and_silent_workers_are_excluded(engine: Engine) -> None:
    stopped = pod(engine, "set-0")
    engine.rows("select rolecall.deregister_worker(%s)", stopped)
    pod(engine, "set-1")
    engine.clock.advance(seconds=301)

    assert pods(engine) == []
