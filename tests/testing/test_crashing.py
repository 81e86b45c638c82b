"""A worker process dies or pauses at a chosen point, and another one takes over."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall import Client, Task
from rolecall.testing import Place, crash_worker, die_here, drain_sync, frozen_worker, url_of
from tests.testing.crashes import app, book, charge

Connection = psycopg.Connection[Any]
APP = "tests.testing.crashes:app"


@pytest.fixture(autouse=True)
def ledger(connection: Connection, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.execute("create table charges (order_id int, idempotency_key text)")
    monkeypatch.setenv("DATABASE_URL", url_of(database))


def charges(connection: Connection) -> list[Any]:
    return [key for (key,) in connection.execute("select idempotency_key from charges")]


def read(database: str, task_id: int) -> Task:
    with Client(database) as client:
        return client.get(task_id)


def enqueued(database: str, handler: Any) -> int:
    with Client(database, app=app) as client:
        return client.enqueue(handler.task(order=7)).id


def test_outside_effects_before_a_crash_are_repeated_with_the_same_idempotency_key(
    database: str, connection: Connection
) -> None:
    task_id = enqueued(database, charge)

    became = crash_worker(APP, database, at="charged")
    assert became == {task_id: "pending"}
    drain_sync(app, database)

    task = read(database, task_id)
    assert (task.state, task.attempt, task.result) == ("completed", 2, "charged 7")
    assert charges(connection) == [f"{task_id}:0"] * 2


def test_writes_in_the_transaction_of_the_completion_happen_once(database: str, connection: Connection) -> None:
    task_id = enqueued(database, book)

    crash_worker(APP, database, at="booked")
    assert charges(connection) == []
    drain_sync(app, database)

    assert (read(database, task_id).attempt, len(charges(connection))) == (2, 1)


@pytest.mark.parametrize(
    ("place", "handler", "charged"),
    [(Place.BEFORE_HANDLER, charge, 0), (Place.BEFORE_COMPLETION, charge, 1), (Place.AFTER_COMPLETION, book, 1)],
)
def test_worker_that_dies_between_two_steps_keeps_its_task_until_detected(
    database: str, connection: Connection, place: Place, handler: Any, charged: int
) -> None:
    task_id = enqueued(database, handler)

    assert crash_worker(APP, database, at=place, rescue=False) == {}

    left = "completed" if place is Place.AFTER_COMPLETION else "running"
    assert (len(charges(connection)), read(database, task_id).state) == (charged, left)


def test_worker_suspended_too_long_loses_its_claim_and_changes_nothing(database: str, connection: Connection) -> None:
    task_id = enqueued(database, charge)

    with frozen_worker(APP, database, at="charged") as worker:
        assert worker.lose_claims() == {task_id: "pending"}
        drain_sync(app, database)
        done = read(database, task_id)

    assert (done.state, done.attempt) == ("completed", 2)
    assert read(database, task_id) == done


def test_connections_can_be_cut_while_a_handler_is_in_its_transaction(database: str, connection: Connection) -> None:
    task_id = enqueued(database, book)

    with frozen_worker(APP, database, at="booked") as worker:
        assert worker.cut_connections() > 1

    task = read(database, task_id)
    assert (task.state, task.attempt, len(charges(connection))) == ("completed", 2, 1)


def test_unreached_crash_point_is_reported(database: str) -> None:
    enqueued(database, charge)

    with pytest.raises(AssertionError, match=r"without reaching 'nowhere'; its log:\n.*"):
        crash_worker(APP, database, at="nowhere")
    with pytest.raises(AssertionError, match="no module named nowhere"):
        crash_worker("nowhere:app", database, at="charged")
    with pytest.raises(ValueError, match="cannot contain a colon"):
        crash_worker(APP, database, at="a:b")


def test_crash_point_does_nothing_outside_a_crash_test() -> None:
    die_here("charged")
