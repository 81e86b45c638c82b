"""Expired rows are pruned in batches, by one session at a time."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import START, Engine

DAY = 86400
HOUR = 3600


def prune_due(engine: Engine, limit: int = 2) -> dict[str, int]:
    return dict(engine.rows("select what, number from rolecall.prune_due(%s)", limit))


def prune_all(engine: Engine, limit: int = 2) -> dict[str, list[int]]:
    """Prune until nothing is due; return the batches by kind."""
    batches: dict[str, list[int]] = {}
    while batch := prune_due(engine, limit):
        for kind, number in batch.items():
            batches.setdefault(kind, []).append(number)
    return batches


def searches(engine: Engine) -> int:
    """Prune until nothing is due; return how often the chains of open tasks were searched."""
    with engine.connection.transaction():
        prune_all(engine)
        calls = "select coalesce(sum(calls), 0) from pg_stat_xact_user_functions where funcname = 'held_chains'"
        return int(str(engine.value(calls)))


def retention(engine: Engine, kind: str, column: str) -> object:
    return engine.value(f"select {column} from rolecall.retention where kind = %s", kind)


def finish(engine: Engine, number: int) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * number)
    claims = engine.claim(number, worker=1)
    engine.finish(1, *({"id": c.id, "fence": c.fence, "outcome": "completed"} for c in claims))
    assert len(claims) == len(ids)


def test_expired_rows_are_pruned_until_none_is_left(engine: Engine) -> None:
    engine.declare({"name": "work", "keep_completed": DAY, "keep_failed": 300 * DAY})
    finish(engine, 5)
    engine.clock.advance(days=2)

    assert prune_all(engine)["finished_tasks"] == [2, 2, 1, 0]
    assert engine.tasks() == []


def test_chains_of_open_tasks_are_searched_once_if_no_day_can_be_dropped(engine: Engine) -> None:
    engine.connection.execute("set track_functions = 'all'")

    assert searches(engine) == 1


def test_each_kind_pauses_for_an_hour_when_nothing_is_left(engine: Engine) -> None:
    prune_all(engine)
    engine.clock.advance(seconds=HOUR - 1)
    assert prune_all(engine) == {}

    engine.clock.advance(seconds=1)

    assert len(prune_all(engine)) == engine.value("select count(*) from rolecall.retention")


def test_two_sessions_never_prune_the_same_kind(engine: Engine, session: Session) -> None:
    other = session()
    other.rows("begin")
    [mine] = prune_due(other)

    theirs = prune_all(engine)

    assert mine not in theirs
    assert len(theirs) == engine.value("select count(*) from rolecall.retention") - 1
    assert engine.prune()[mine] == 0
    other.rows("rollback")
    assert list(prune_all(engine)) == [mine]


def test_day_without_expired_tasks_is_not_read(engine: Engine) -> None:
    """The rolled-up counts show that nothing has expired."""
    engine.declare({"name": "work", "keep_completed": 400 * DAY, "keep_failed": DAY})
    engine.declare({"name": "short", "keep_completed": DAY, "keep_failed": DAY})
    engine.rows("select rolecall.make_partitions(3)")
    finish(engine, 2)
    engine.clock.advance(days=1)
    engine.enqueue("short")
    engine.complete(engine.claim_one("short"))
    engine.clock.set(START + timedelta(days=5))
    while engine.value("select rolecall.roll_up_counts('0 s')"):
        pass
    engine.clock.advance(days=5)

    listed = engine.rows("select label from rolecall.days_to_prune(null, rolecall.clock())")

    assert ("2026-01-02",) in listed
    assert ("2026-01-01",) not in listed


def test_day_in_use_is_recorded_and_retried_after_a_minute(engine: Engine, session: Session) -> None:
    engine.rows("select rolecall.make_partitions(3)")
    engine.clock.advance(days=60)
    reader = session()
    reader.rows("begin")
    reader.rows("select * from rolecall.finished_tasks")

    pruned = prune_all(engine)
    assert (pruned["task_partitions"], pruned["event_partitions"]) == ([0], [1, 1, 1, 1, 0])
    since = engine.value("select rolecall.clock()")
    assert retention(engine, "task_partitions", "in_use_since") == since
    engine.clock.advance(seconds=60)
    assert prune_all(engine) == {"task_partitions": [0]}
    assert retention(engine, "task_partitions", "in_use_since") == since

    reader.rows("rollback")
    engine.clock.advance(seconds=60)
    assert prune_all(engine) == {"task_partitions": [1, 1, 1, 1, 0]}
    assert retention(engine, "task_partitions", "in_use_since") is None


def test_days_of_a_new_role_are_dropped_entirely(engine: Engine) -> None:
    """Completed and failed tasks have the same retention, so that no task is deleted individually."""
    engine.declare({"name": "new"})
    engine.rows("delete from rolecall.roles where name = 'work'")
    engine.rows("select rolecall.make_partitions(2)")
    for outcome in (engine.complete, engine.fail):
        engine.enqueue("new", max_attempts=1)
        outcome(engine.claim_one("new"))
    engine.clock.set(START + timedelta(days=14, hours=23))
    assert prune_all(engine)["finished_tasks"] == [0]
    engine.clock.set(START + timedelta(days=15, seconds=1))

    pruned = prune_all(engine)

    assert (pruned["finished_tasks"], pruned["task_partitions"]) == ([0], [1, 0])
    assert engine.tasks() == []


def test_day_overdue_by_a_day_is_emptied_row_by_row(engine: Engine, session: Session) -> None:
    engine.rows("select rolecall.make_partitions(2)")
    finish(engine, 1)
    reader = session()
    reader.rows("begin")
    reader.rows("select * from rolecall.finished_tasks")
    engine.clock.set(START + timedelta(days=16, seconds=1))

    assert prune_all(engine)["finished_tasks"] == [1, 0]


def test_audit_log_is_kept_for_four_hundred_days(engine: Engine) -> None:
    for _ in range(5):
        engine.rows("select rolecall.record_audit('ada', 'cli', null, 'tasks.retry', '{}', null)")
    engine.clock.advance(days=400)
    assert prune_all(engine)["audit_log"] == [0]

    engine.clock.advance(seconds=HOUR)

    assert prune_all(engine)["audit_log"] == [2, 2, 1]


def test_retention_of_the_audit_log_can_be_set(engine: Engine) -> None:
    engine.rows("select rolecall.record_audit('ada', 'cli', null, 'tasks.retry', '{}', null)")
    prune_all(engine)
    engine.clock.advance(days=8)
    prune_all(engine)

    engine.rows("select rolecall.keep_audit(%s)", 7.0 * DAY)

    assert prune_all(engine) == {"audit_log": [1]}
    with pytest.raises(psycopg.DatabaseError, match="between a day and a hundred years"):
        engine.rows("select rolecall.keep_audit(60)")


MANY = {
    "workers": "select rolecall.register_worker('w', '{}', '{work}', 1, 'h', 1, '0')",
    "requests": "insert into rolecall.requests select 'ada', n::text, 'x', rolecall.clock(), 200, null, ''",
    "idle_marks": "insert into rolecall.idle_marks select '', n, '{}', rolecall.clock()",
    "task_tokens": "insert into rolecall.task_tokens select n::text::bytea, 4711, rolecall.clock(), 'infinity'",
    "task_owners": "insert into rolecall.task_owners select n, 'key:7', 'gone'",
    "task_events": "insert into rolecall.task_events_default select n, '2020-01-01', 'told', 1",
}


@pytest.mark.parametrize("kind", MANY)
def test_each_kind_is_pruned_in_batches(engine: Engine, kind: str) -> None:
    engine.rows(f"{MANY[kind]} from generate_series(1, 5) as n")
    engine.clock.advance(days=40)

    batches = prune_all(engine)[kind]

    assert (sum(batches), max(batches)) == (5, 2)


@pytest.mark.parametrize("outcome", ["pending", "completed"])
def test_owner_and_title_are_kept_as_long_as_the_task(engine: Engine, outcome: str) -> None:
    task_id = engine.value("""select rolecall.enqueue_owned('{"handler": "work"}', 'key:7', 'Sales')""")
    if outcome == "completed":
        engine.complete(engine.claim_one())
    prune_all(engine)

    assert engine.rows("select id, title from rolecall.owned_tasks('key:7')") == [(task_id, "Sales")]
