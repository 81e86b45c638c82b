"""process_tasks commits each task, but never inside its caller's transaction."""

from __future__ import annotations

from functools import partial
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine
from tests.sql.procedures import COUNT, WAIT, WAITING, another, beside, counted, handler, hook, process, table, until

TABLES = (
    "tasks",
    "finished_tasks",
    "task_events",
    "workers",
    "keys",
    "needs",
    "lines",
    "handlers",
    "roles",
    "server_epoch",
)


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """The engine with a table and a SQL handler that inserts into it."""
    table(engine)
    handler(engine, COUNT)
    return engine


def everything(engine: Engine) -> list[list[tuple[Any, ...]]]:
    return [engine.rows(f"select t::text, xmin::text from rolecall.{name} as t order by 1") for name in TABLES]


def test_rolled_back_drain_leaves_no_trace(shop: Engine) -> None:
    shop.enqueue(handler="count", payload={"n": 1})
    before = everything(shop)

    with shop.connection.transaction(force_rollback=True):
        shop.enqueue(handler="count", payload={"n": 2})
        process(shop)
        assert counted(shop) == [1, 2]
        assert [task.state for task in shop.tasks()] == ["completed", "completed"]

    assert (everything(shop), counted(shop)) == (before, [])


def test_rolled_back_drain_sends_no_notifications(shop: Engine, session: Session) -> None:
    shop.rows("select rolecall.mark_idle(%s, true)", shop.worker())
    handler(shop, "perform rolecall.enqueue('work'); notify shop;")
    listener = session()
    for channel in ("rolecall_wake", "rolecall_cancel", "rolecall_handlers", "shop", "mark"):
        listener.rows(f"listen {channel}")

    with shop.connection.transaction(force_rollback=True):
        shop.enqueue(handler="count")
        process(shop)

    shop.rows("notify mark")
    assert [notice.channel for notice in listener.connection.notifies(timeout=30, stop_after=1)] == ["mark"]


def test_drain_commits_with_the_transaction_of_its_caller(shop: Engine) -> None:
    with shop.connection.transaction():
        shop.enqueue(handler="count", payload={"n": 2})
        process(shop)

    assert counted(shop) == [2]


@pytest.mark.parametrize(
    "text",
    [
        "begin; call rolecall.process_tasks(); rollback",
        "do $$ begin perform 1; call rolecall.process_tasks(); raise 'undo'; end $$; select 1",
    ],
)
def test_multi_statement_query_is_detected_as_a_transaction(shop: Engine, text: str) -> None:
    """Clocks and transaction ids do not show it, so the state of the server is queried."""
    shop.enqueue(handler="count", payload={"n": 1})

    try:
        shop.connection.execute(text.encode())
    except psycopg.errors.RaiseException as error:
        assert "undo" in str(error)

    assert counted(shop) == []
    assert [task.state for task in shop.tasks()] == ["pending"]


def test_commits_can_be_disabled_by_the_caller(shop: Engine) -> None:
    handler(shop, "info := jsonb_build_object('transaction', pg_current_xact_id()::text);")
    for _ in range(2):
        shop.enqueue(handler="count")

    process(shop, commit=False)

    assert len({str(task.info) for task in shop.tasks()}) == 1


def test_every_task_is_committed_outside_a_transaction(shop: Engine) -> None:
    handler(shop, "info := jsonb_build_object('transaction', pg_current_xact_id()::text);")
    for _ in range(2):
        shop.enqueue(handler="count")

    process(shop)

    assert len({str(task.info) for task in shop.tasks()}) == 2


def test_running_task_is_visible_to_other_sessions(shop: Engine, session: Session) -> None:
    """The claim and the before hook are committed first."""
    hook(shop, "before", "insert into shop.counted values (0);")
    handler(shop, WAIT, before="shop.before")
    task_id = shop.enqueue(handler="count")
    watcher = session()
    watcher.rows("select pg_advisory_lock(1)")

    with beside(partial(process, shop)):
        until(watcher, "exists (select from rolecall.tasks where state = 'running')")
        name = f"rolecall:worker:{watcher.task(task_id).worker_id}:task:{task_id}"
        until(watcher, f"exists (select from pg_stat_activity where application_name = '{name}')")
        assert counted(watcher) == [0]
        watcher.rows("select pg_advisory_unlock(1)")

    assert shop.task(task_id).state == "completed"


def test_cancelled_drain_returns_its_task(shop: Engine, session: Session) -> None:
    handler(shop, f"{COUNT} {WAIT}")
    task_id = shop.enqueue(handler="count", payload={"n": 1})
    watcher = session()
    watcher.rows("select pg_advisory_lock(1)")

    with beside(partial(process, shop)) as errors:
        until(watcher, WAITING)
        watcher.rows("select pg_cancel_backend(%s)", shop.connection.info.backend_pid)

    assert [error.sqlstate for error in errors] == ["57014"]
    assert (shop.task(task_id).state, shop.task(task_id).attempt, counted(shop)) == ("pending", 0, [])
    assert shop.value("select count(*) from rolecall.workers where stopped_at is null") == 0


def test_concurrent_drains_share_the_work(shop: Engine) -> None:
    ids, _ = shop.enqueue_many([{"handler": "count", "payload": {"n": n}} for n in range(40)])

    with another(shop) as second, beside(partial(process, second)) as errors:
        process(shop)

    assert (errors, counted(shop)) == ([], list(range(40)))
    assert {shop.task(task_id).attempt for task_id in ids} == {1}
