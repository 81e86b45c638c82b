"""Assertions about enqueued tasks by handler, fields and options."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import ANY
from uuid import UUID

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from rolecall import App, Client
from rolecall.testing import Clock, all_enqueued, assert_enqueued, assert_not_enqueued, inline, url_of

Connection = psycopg.Connection[Any]
START = datetime(2026, 1, 1, tzinfo=UTC)
app = App("shop")


@app.task(role="money")
def bill(order: int, lines: dict[str, Any] | None = None) -> str:
    return f"billed {order}"


@app.task
async def send(to: UUID, priority: int = 0) -> None: ...


@pytest.fixture
def client(database: str) -> Iterator[Client]:
    with Client(database, app=app) as client:
        yield client


def test_enqueued_tasks_are_returned_oldest_first(client: Client, database: str) -> None:
    first, second = client.enqueue(bill, order=7), client.enqueue(bill, order=7)
    client.enqueue(bill, order=8)

    found = assert_enqueued(database, bill, order=7)

    assert [task.id for task in found] == [first.id, second.id]
    assert assert_enqueued(database, bill, order=7, times=2) == found
    assert all_enqueued(database, "bill", order=7) == found


def test_unspecified_fields_can_have_any_value_at_every_depth(client: Client, database: str) -> None:
    client.enqueue(bill, order=7, lines={"tea": {"price": 3, "pieces": 2}, "milk": None})

    assert_enqueued(database, bill, order=ANY, lines={"tea": {"pieces": 2}})
    assert_not_enqueued(database, bill, lines={"tea": {"pieces": 3}})
    assert_not_enqueued(database, bill, lines={"coffee": ANY})


def test_values_are_compared_in_their_json_form(client: Client, database: str) -> None:
    somebody = UUID(int=7)
    client.enqueue(send, to=somebody)

    assert_enqueued(database, send, to=somebody)
    assert_enqueued(database, "send", {"to": str(somebody)})


@pytest.mark.parametrize(
    "options",
    [
        {"key": "customer:7"},
        {"role": "money", "priority": 5},
        {"state": "pending"},
        {"after": 3600},
        {"after": timedelta(hours=1)},
        {"scheduled_for": START + timedelta(hours=1)},
        {"dedupe_key": "order:7", "max_attempts": 3, "timeout": timedelta(minutes=1)},
    ],
)
def test_options_can_be_asserted_too(client: Client, database: str, clock: Clock, options: dict[str, Any]) -> None:
    clock.set(START)
    words = bill.using(
        key="customer:7", dedupe_key="order:7", priority=5, after=3600, max_attempts=3, timeout=timedelta(minutes=1)
    )
    client.enqueue(words, order=7)

    assert_enqueued(database, bill, order=7, **options)
    assert_enqueued(database, bill.using(key="customer:7"), order=7)
    with pytest.raises(AssertionError):
        assert_not_enqueued(database, bill, {"order": 7}, **options)


def test_new_task_is_matched_with_its_options(client: Client, database: str) -> None:
    client.enqueue(bill.task(order=7).options(key="customer:7"))

    assert_enqueued(database, bill.task(order=7))
    assert_enqueued(database, bill.task(order=7).options(key="customer:7"))
    assert_not_enqueued(database, bill.task(order=7).options(key="customer:8"))


def test_finished_task_still_counts_as_enqueued(connection: Connection) -> None:
    with connection.transaction(force_rollback=True):
        Client(app=app).enqueue(bill, {"order": 7}, connection=connection)
        inline(app, connection)

        assert_enqueued(connection, bill, state="completed")
        assert_not_enqueued(connection, bill, state="pending")


def test_uncommitted_task_is_found_through_its_own_connection(connection: Connection, database: str) -> None:
    with connection.transaction(force_rollback=True):
        Client(app=app).enqueue(bill, {"order": 7}, connection=connection)

        assert_enqueued(connection, bill, order=7)
        assert_not_enqueued(database)


async def test_assertion_with_an_async_connection_is_awaited(
    client: Client, aconnection: psycopg.AsyncConnection[Any], database: str
) -> None:
    task = client.enqueue(bill, order=7)

    [found] = await assert_enqueued(aconnection, bill, order=7)
    await assert_not_enqueued(aconnection, bill, order=8)

    assert [found] == await all_enqueued(aconnection)
    assert found.id == task.id
    other = await asyncpg.connect(url_of(database))
    try:
        [same] = await assert_enqueued(other, bill)
    finally:
        await other.close()
    assert same == found


def test_sqlalchemy_session_is_accepted_as_a_connection(database: str) -> None:
    engine = create_engine(url_of(database, "psycopg"))
    with Session(engine) as session:
        Client(app=app).enqueue(bill, {"order": 7}, connection=session)

        assert_enqueued(session, bill, order=7)
        session.rollback()

        assert_not_enqueued(session)
    engine.dispose()


def test_failure_shows_the_enqueued_tasks_and_the_closest_match(client: Client, database: str) -> None:
    client.enqueue(send, to=UUID(int=1))
    client.enqueue(bill.using(key="customer:7"), order=7)

    with pytest.raises(AssertionError) as raised:
        assert_enqueued(database, bill, order=8, key="customer:7")

    first, closest, other = str(raised.value).splitlines()
    assert first == "no task of 'bill' with order=8, key='customer:7' was enqueued; the tasks are"
    assert closest.startswith("  task 2 of 'bill' (pending, role 'money', key 'customer:7', due ")
    assert closest.endswith('{"order": 7}: order is 7, not 8')
    assert "the handler is 'send'" in other


def test_unexpected_number_of_tasks_fails(client: Client, database: str) -> None:
    client.enqueue(bill, order=7)

    with pytest.raises(AssertionError, match="task of 'bill': 1 were enqueued, not 2"):
        assert_enqueued(database, bill, times=2)


def test_unexpectedly_enqueued_task_is_shown(client: Client, database: str) -> None:
    client.enqueue(bill, order=7)

    with pytest.raises(AssertionError, match=r"a task was enqueued:\n  task 1 of 'bill'"):
        assert_not_enqueued(database)


def test_failure_states_that_nothing_was_enqueued(database: str) -> None:
    with pytest.raises(AssertionError, match="no task of 'bill' was enqueued; no tasks were enqueued"):
        assert_enqueued(database, bill)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"ordr": 7}, "ordr= is neither a field of 'bill' nor an option; did you mean 'order'?"),
        ({"kye": "x"}, "kye= is neither a field of 'bill' nor an option; did you mean 'key'?"),
    ],
)
def test_unknown_field_or_option_is_rejected(database: str, words: dict[str, Any], expected: str) -> None:
    """Otherwise a misspelled assertion that a task was not enqueued would always pass."""
    with pytest.raises(TypeError, match=expected):
        assert_not_enqueued(database, bill, **words)


def test_ambiguous_keyword_is_rejected_unless_the_payload_is_a_dict(client: Client, database: str) -> None:
    client.enqueue(send, {"to": UUID(int=1), "priority": 3}, priority=5)

    with pytest.raises(TypeError, match="priority= is a field of 'send' and an option of a task"):
        assert_enqueued(database, send, priority=3)

    assert_enqueued(database, send, {"priority": 3}, priority=5)


def test_option_that_is_not_stored_is_rejected(database: str) -> None:
    with pytest.raises(TypeError, match="retry= is not an option of a stored task"):
        assert_enqueued(database, bill, {}, retry=None)
    with pytest.raises(ValueError, match="scheduled_for needs a time zone"):
        assert_enqueued(database, bill, scheduled_for=datetime(2026, 1, 1))  # noqa: DTZ001 - on purpose
    with pytest.raises(TypeError, match="expected a handler, its name or a task, got int"):
        assert_enqueued(database, 7)  # type: ignore[call-overload]  # on purpose
