from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from rolecall import App, InvalidDeclaration, InvalidPayload, InvalidSchedule, NewTask, linear


@pytest.fixture
def app() -> App:
    return App("shop")


def test_definition_is_callable_like_the_function(app: App) -> None:
    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    assert add(1, b=2) == 3
    assert app.handlers["add"] is add


def test_name_and_role_default_to_the_function_name(app: App) -> None:
    @app.task
    def plain() -> None: ...

    @app.task("other.name", role="lane")
    def named() -> None: ...

    assert (plain.name, plain.role) == ("plain", "plain")
    assert (named.name, named.role) == ("other.name", "lane")


def test_handler_creates_its_tasks(app: App) -> None:
    @app.task
    def add(a: int) -> None: ...

    assert add.task(a=1) == NewTask(handler="add", payload={"a": 1})


def test_duplicate_handler_name_is_rejected(app: App) -> None:
    @app.task
    def add() -> None: ...

    with pytest.raises(InvalidDeclaration, match="already a handler named 'add'"):
        app.task("add")(lambda: None)


def test_declaration_contains_only_given_settings(app: App) -> None:
    app.role("lane", lease=timedelta(seconds=30), max_attempts=0)

    @app.task(role="lane", retry=linear(), timeout=timedelta(minutes=1))
    def work(n: int) -> None:
        """Do it.

        At length.
        """

    @app.task
    def idle() -> None: ...

    roles, handlers = app.declaration()

    assert roles == [{"name": "lane", "lease": 30.0, "max_attempts": 0}, {"name": "idle"}]
    assert handlers[0] | {"signature": None} == {
        "name": "work",
        "role": "lane",
        "description": "Do it.",
        "retry": linear().to_json(),
        "timeout": 60.0,
        "signature": None,
    }
    assert json.loads(json.dumps(handlers[0]["signature"])) == work.signature.schema


def test_schedule_validates_its_payload(app: App) -> None:
    @app.task
    def add(a: int) -> None: ...

    schedule = app.schedule("hourly", add, every=timedelta(hours=1), payload={"a": 1})

    assert (schedule.handler, schedule.every, schedule.payload) == ("add", 3600.0, {"a": 1})
    assert app.schedules == {"hourly": schedule}
    for handler in (add, "add"):
        with pytest.raises(InvalidPayload):
            app.schedule("wrong", handler, every=60, payload={"a": "x"})


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({}, "either"),
        ({"every": 60, "cron": "@daily"}, "either"),
        ({"every": 0.5}, "every is 1 to"),
        ({"cron": "0 0 30 2 *"}, "day-of-month"),
        ({"cron": "@daily", "zone": "Europe/Berlim"}, "did you mean"),
    ],
)
def test_invalid_schedule_is_rejected_at_its_declaration(app: App, words: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidSchedule, match=problem):
        app.schedule("odd", "elsewhere", **words)


def test_schedule_can_name_a_handler_of_another_app(app: App) -> None:
    assert app.schedule("nightly", "elsewhere", every=60, payload={"any": 1}).handler == "elsewhere"


def test_handlers_of_an_app_are_read_only(app: App) -> None:
    with pytest.raises(TypeError):
        app.handlers["x"] = None  # type: ignore[index]  # that it is refused is the point
