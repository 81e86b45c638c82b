"""docs/guides/dedupe.md: each example works as described."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from rolecall import Client, NewTask
from rolecall.cli.main import run
from rolecall.testing import Clock
from rolecall.testing.draining import drain
from tests.guides.blocks import blocks, python_of

Connection = psycopg.Connection[Any]
Call = Callable[..., Any]


@pytest.fixture
def shop() -> dict[str, Any]:
    return python_of("dedupe.md")


@pytest.fixture
def call(shop: dict[str, Any], database: str, clock: Clock) -> Call:
    """Call a function of the guide, each time with a client that sees the clock as it is then."""
    clock.set(clock.now())

    def with_client(name: str, *words: object) -> Any:
        with Client(database, app=shop["app"]) as client:
            return shop[name](client, *words)

    return with_client


def tasks(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("select state::text, payload from rolecall.all_tasks order by id").fetchall()


def claim(connection: Connection, *handlers: str) -> list[tuple[Any, ...]]:
    return connection.execute(
        "select id, fence, payload from rolecall.claim(1, '{}', %s, 10)", [list(handlers)]
    ).fetchall()


def complete(connection: Connection, task_id: int, fence: int) -> None:
    report = f'[{{"id": {task_id}, "fence": {fence}, "outcome": "completed"}}]'
    assert connection.execute("select * from rolecall.finish(1, %s)", [report]).fetchall() == []


def test_changes_are_merged_into_one_task(call: Call, connection: Connection) -> None:
    ids = {call("product_changed", product) for product in (7, 8, 7)}

    assert len(ids) == 1
    assert tasks(connection) == [("pending", {"product_ids": [7, 8], "changes": 3})]


def test_slider_renders_one_picture(call: Call, connection: Connection, clock: Clock) -> None:
    for width in (100, 90, 80):
        call("width_chosen", "cat.png", width)
        clock.advance(seconds=1.9)
        assert claim(connection, "resize") == []

    clock.advance(seconds=0.2)
    assert [payload for *_, payload in claim(connection, "resize")] == [{"image": "cat.png", "width": 80}]


def test_digest_is_sent_once_an_hour(call: Call, connection: Connection, clock: Clock) -> None:
    answers = []
    for _ in range(5):
        answers.append(call("something_happened", 7))
        for task_id, fence, _ in claim(connection, "digest"):
            complete(connection, task_id, fence)
        clock.advance(minutes=25)

    assert answers == [True, False, False, True, False]
    assert call("something_happened", 8)


def test_duplicate_import_is_reported(call: Call) -> None:
    first = call("start_import", "a.csv").split()[1]

    assert call("start_import", "a.csv") == f"a.csv is being imported already, see task {first}"


async def test_sweep_enqueues_its_successor(shop: dict[str, Any], database: str, connection: Connection) -> None:
    with Client(database, app=shop["app"]) as client:
        first = client.enqueue(shop["sweep"], dedupe_key="one").id
        await drain(shop["app"], database)
        assert client.enqueue(shop["sweep"], dedupe_key="one").deduplicated
        assert client.get(first).state == "completed"

    assert [state for state, _ in tasks(connection)] == ["completed", "pending"]


def test_successor_is_enqueued_while_its_predecessor_runs(
    shop: dict[str, Any], call: Call, database: str, connection: Connection
) -> None:
    with Client(database, app=shop["app"]) as client:
        first = client.enqueue(shop["sweep"], dedupe_key="one").id
    claim(connection, "sweep")

    assert call("enqueue_successor", first) != first
    assert [state for state, _ in tasks(connection)] == ["running", "pending"]


def test_sql_version_behaves_like_the_python_version(call: Call, connection: Connection) -> None:
    task_id = call("product_changed", 8)
    [query] = blocks("dedupe.md", "sql")

    assert connection.execute(query.encode()).fetchall() == [([task_id], [task_id])]
    assert tasks(connection) == [("pending", {"product_ids": [8, 7], "changes": 2})]


def test_command_is_throttled_too(
    call: Call, database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("something_happened", 7)
    monkeypatch.setenv("DATABASE_URL", database)
    [_, line] = blocks("dedupe.md", "sh")

    assert run(shlex.split(line)[1:]) == 0
    assert "already exists" in capsys.readouterr().out


def test_duplicate_of_a_plain_task_keeps_the_existing_task_by_default(shop: dict[str, Any], database: str) -> None:
    with Client(database, app=shop["app"]) as client:
        answers = client.enqueue_many([NewTask(handler="digest", payload={"account": 1}, dedupe_key="1")] * 2)

    assert [answer.deduplicated for answer in answers] == [False, True]
