"""Pruning deletes rows past their retention, and nothing open."""

from __future__ import annotations

from datetime import timedelta

from psycopg.types.json import Jsonb

from tests.sql.engine import START, Engine

DAY = 86400


def finish_one(engine: Engine, role: str = "work", **words: object) -> int:
    task_id = engine.enqueue(role, **words)
    engine.complete(engine.claim_one(role))
    return task_id


def known(engine: Engine) -> list[int]:
    return [task.id for task in engine.tasks()]


def test_completed_task_is_kept_for_the_retention_of_its_role(engine: Engine) -> None:
    engine.declare({"name": "short", "keep_completed": DAY}, {"name": "long", "keep_completed": 3 * DAY})
    short, long = finish_one(engine, "short"), finish_one(engine, "long")
    engine.clock.set(START + timedelta(days=1))
    engine.prune()
    assert known(engine) == [short, long]

    engine.clock.advance(seconds=1)
    engine.prune()

    assert known(engine) == [long]


def test_failed_and_cancelled_tasks_have_the_retention_of_failures(engine: Engine) -> None:
    engine.declare({"name": "r", "keep_completed": DAY, "keep_failed": 2 * DAY})
    failed, cancelled = engine.enqueue("r"), engine.enqueue("r")
    engine.fail(engine.claim_one("r"), final=True)
    engine.cancel(cancelled)
    done = finish_one(engine, "r")
    engine.clock.advance(days=1, seconds=1)
    engine.prune()

    assert known(engine) == [failed, cancelled]
    assert done not in known(engine)


def test_logs_are_kept_for_a_week_or_until_their_task_is_deleted(engine: Engine) -> None:
    tasks = [engine.enqueue(), engine.enqueue()]
    for task_id in tasks:
        part = {"task_id": task_id, "fence": 1, "attempt": 1, "part": 1, "lines": [[1, 0, 20, "shop", "open"]]}
        engine.rows("select rolecall.write_logs(%s)", Jsonb([part]))
    kept = "select array_agg(task_id) from rolecall.task_logs"
    engine.rows("select rolecall.delete_task(%s)", tasks[0])
    engine.clock.set(START + timedelta(days=7))
    engine.prune()
    assert engine.value(kept) == tasks[1:]

    engine.clock.advance(seconds=1)

    assert engine.prune()["task_logs"] == 1
    assert engine.value(kept) is None


def test_days_past_the_retention_of_every_role_are_dropped(engine: Engine) -> None:
    """Dropping partitions leaves no dead rows."""
    engine.declare({"name": "work", "keep_completed": DAY, "keep_failed": 5 * DAY})
    engine.rows("select rolecall.make_partitions(10)")
    finish_one(engine)
    engine.clock.set(START + timedelta(days=6))

    dropped = [engine.prune() for _ in range(2)]

    assert [(one["task_partitions"], one["event_partitions"]) for one in dropped] == [(1, 1), (0, 0)]
    assert known(engine) == []
    assert engine.value("select to_regclass('rolecall.finished_tasks_20260101')") is None
    assert engine.value("select to_regclass('rolecall.finished_tasks_20260102')") is not None


def test_events_are_dropped_with_their_day(engine: Engine) -> None:
    engine.declare({"name": "work", "keep_completed": DAY, "keep_failed": DAY})
    engine.rows("select rolecall.make_partitions(10)")
    task_id = engine.enqueue(retry={"kind": "linear", "step": 0})
    engine.fail(engine.claim_one())
    engine.clock.set(START + timedelta(days=3))
    engine.prune()

    assert engine.events(task_id) == []
    assert engine.task(task_id).state == "pending"


def test_events_in_the_default_partition_are_deleted(engine: Engine) -> None:
    engine.declare({"name": "work", "keep_completed": DAY, "keep_failed": DAY})
    task_id = engine.enqueue(retry={"kind": "linear", "step": 0})
    engine.fail(engine.claim_one())
    engine.clock.set(START + timedelta(days=3))
    engine.fail(engine.claim_one())
    engine.prune()

    assert len(engine.events(task_id)) == 1


def test_open_tasks_are_never_pruned(engine: Engine) -> None:
    later = engine.enqueue(after=3650 * DAY, key="a")
    engine.enqueue(key="b")
    running = engine.claim_one()
    parked = engine.enqueue(key="b")
    assert engine.claim() == []
    engine.clock.advance(days=365)
    engine.prune()

    assert known(engine) == sorted([later, running.id, parked])
    assert engine.complete(running) is None
    assert engine.claim_one().id == parked


def test_unused_keys_are_deleted(engine: Engine) -> None:
    finish_one(engine, key="done")
    engine.enqueue(key="running")
    engine.claim_one()

    assert engine.prune()["keys"] == 1
    assert engine.rows("select key from rolecall.keys") == [("running",)]


def test_key_with_its_own_capacity_is_kept(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('api', 3)")

    assert engine.prune()["keys"] == 0


def test_workers_are_deleted_a_day_after_their_last_heartbeat(engine: Engine) -> None:
    gone, silent, alive = engine.worker(), engine.worker(), engine.worker()
    engine.rows("select rolecall.deregister_worker(%s)", gone)
    engine.clock.advance(days=1, seconds=1)
    engine.rows("select rolecall.beat(%s, 0, false)", alive)

    assert engine.prune()["workers"] == 2
    assert engine.rows("select id from rolecall.workers") == [(alive,)]
    assert silent != alive


def test_one_call_deletes_a_limited_number(engine: Engine) -> None:
    engine.declare({"name": "work", "keep_completed": 0, "keep_failed": 30 * DAY})
    ids, _ = engine.enqueue_many([{"role": "work"}] * 5001)
    engine.finish(
        1, *({"id": c.id, "fence": c.fence, "outcome": "completed"} for c in engine.claim(len(ids), worker=1))
    )
    engine.clock.advance(seconds=1)

    assert [engine.prune()["finished_tasks"] for _ in range(3)] == [5000, 1, 0]
