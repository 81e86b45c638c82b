"""The feed of changes lists each task whose row, children or needs changed."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from rolecall.db.run import run
from rolecall.model.operator.live import Changes, Horizon, TaskChange
from rolecall.sql import live
from rolecall.testing.databases import TestServer
from tests.sql.conftest import Session
from tests.sql.costs import buffers, fill, finish_all, until_nobody_sees_what_died
from tests.sql.engine import Engine
from tests.sql.families import family, parent_of

FEW = 300
LIMIT = 100


@pytest.fixture
def before(engine: Engine) -> Horizon:
    """A time before everything that the test does."""
    return run(engine.connection, live.horizon())


def look(engine: Engine, before: Horizon, limit: int = LIMIT) -> Changes:
    return run(engine.connection, live.changes(before.at, before.last_id, limit))


def since(engine: Engine) -> Horizon:
    """Return a horizon after everything done so far."""
    engine.clock.advance(seconds=1)
    return run(engine.connection, live.horizon())


def changed_states(engine: Engine, before: Horizon) -> dict[int, str]:
    return {change.id: change.state.value for change in look(engine, before).tasks}


def test_created_task_is_reported(engine: Engine, before: Horizon) -> None:
    task_id = engine.enqueue()

    [change] = look(engine, before).tasks

    assert (change.id, change.parent_id, change.role, change.state) == (task_id, None, "work", "pending")


def test_claimed_started_retried_and_completed_task_is_reported_each_time(engine: Engine) -> None:
    task_id = engine.enqueue()
    versions: set[TaskChange] = set()
    before = since(engine)
    [claim] = engine.claim(1, start=0)
    versions.update(look(engine, before).tasks)
    before = since(engine)
    engine.start(claim)
    versions.update(look(engine, before).tasks)
    before = since(engine)
    engine.fail(claim)
    versions.update(look(engine, before).tasks)
    engine.clock.advance(seconds=60)
    before = since(engine)
    engine.complete(engine.claim_one())
    versions.update(look(engine, before).tasks)

    assert {change.id for change in versions} == {task_id}
    assert sorted(change.state for change in versions) == ["completed", "pending", "running", "running"]


def test_unchanged_tasks_are_not_reported(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 3)
    engine.complete(engine.claim_one())
    running = engine.claim_one()
    before = since(engine)

    engine.renew(running)

    assert changed_states(engine, before) == {}


def test_parent_is_reported_when_a_child_finishes(engine: Engine) -> None:
    root, children = family(engine, 2)
    held = engine.claim_all()
    before = since(engine)

    engine.complete(held[children[0]])

    assert changed_states(engine, before) == {root: "waiting", children[0]: "completed"}


def test_parent_is_reported_when_it_waits_and_when_it_resumes(engine: Engine) -> None:
    root, [child] = parent_of(engine, {"role": "work"}, gathers=True)

    assert changed_states(engine, Horizon(engine.clock.now(), 0, frozenset(), 0))[root] == "waiting"
    before = since(engine)
    engine.complete(engine.claim_one())
    assert changed_states(engine, before) == {root: "pending", child: "completed"}


def test_blocked_task_is_reported_when_its_need_is_met(engine: Engine) -> None:
    needed = engine.enqueue()
    needy = engine.enqueue(needs=[needed])
    before = since(engine)

    engine.complete(engine.claim_one())

    assert changed_states(engine, before) == {needed: "completed", needy: "pending"}


def test_retried_task_is_reported(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.cancel(task_id)
    before = since(engine)

    engine.retry(task_id)

    assert changed_states(engine, before) == {task_id: "pending"}


def test_one_row_above_the_limit_shows_that_there_are_more(engine: Engine, before: Horizon) -> None:
    fill(engine, 50)
    finish_all(engine, 30)

    assert len(look(engine, before, limit=20).tasks) == 21
    assert len(look(engine, before, limit=50).tasks) == 50


def test_horizon_contains_running_transactions(engine: Engine, session: Session) -> None:
    other = session()
    with other.connection.transaction():
        other.enqueue()
        xid = other.value("select pg_current_xact_id()::text::bigint")
        during = run(engine.connection, live.horizon())
    after = run(engine.connection, live.horizon())

    assert xid in during.under_way
    assert xid not in after.under_way


def test_horizon_lists_transactions_of_other_databases_separately(engine: Engine, postgres_server: TestServer) -> None:
    with psycopg.connect(postgres_server.dsn("postgres")) as other:
        [xid] = other.execute("select pg_current_xact_id()::text::bigint").fetchone() or [0]
        during = run(engine.connection, live.horizon())
    after = run(engine.connection, live.horizon())

    assert xid in during.elsewhere
    assert xid not in during.under_way
    assert xid not in after.elsewhere


def test_horizons_advance(engine: Engine) -> None:
    first = run(engine.connection, live.horizon())
    engine.enqueue()
    second = run(engine.connection, live.horizon())

    assert first.next_xid < second.next_xid
    assert (first.last_id, second.last_id) == (0, 1)
    assert second.at - first.at == timedelta(0)


def test_cost_of_changes_does_not_depend_on_the_number_of_tasks(live_engine: Engine) -> None:
    engine = live_engine
    engine.rows("select rolecall.make_partitions()")
    fill(engine, 20_000)
    finish_all(engine, 10_000)
    engine.rows("select brin_summarize_new_values(%s::text::regclass)", brin_of_today(engine))
    until_nobody_sees_what_died(engine)
    engine.claim(10, worker=1)
    now, last_id = engine.rows("select rolecall.clock(), max(id) from rolecall.tasks")[0]
    query = f"select * from rolecall.changes('{now}', {last_id}, 1000)"

    assert buffers(engine, query) < FEW


def brin_of_today(engine: Engine) -> str:
    name: str = engine.value(
        "select indexrelid::regclass::text from pg_index join pg_class on pg_class.oid = indexrelid "
        "where indrelid = (select tableoid from rolecall.finished_tasks limit 1) and relam = "
        "(select oid from pg_am where amname = 'brin')"
    )
    return name
