"""Errors for common mistakes suggest the correction."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import pytest

from rolecall import App, HandlerMissing, InvalidTask, UnknownRole
from rolecall.client.requests import new_task
from tests.client.conftest import Face, Kind


@pytest.fixture
def app() -> App:
    app = App("shop")

    @app.task(role="mail")
    async def greet(name: str) -> str:
        return f"Hello, {name}!"

    return app


@pytest.fixture
def greet(app: App) -> Any:
    return app.handlers["greet"]


@pytest.fixture
async def face(kind: Kind, database: str, app: App) -> Any:
    face = Face(kind, database, app)
    yield face
    await face("close")


async def test_enqueueing_a_handlers_return_value_explains_the_mistake(face: Face, greet: Any) -> None:
    with pytest.raises(TypeError, match=r"greet\(\.\.\.\) was called.*enqueue\(greet, \.\.\.\)"):
        await face("enqueue", greet("Ada"))


async def test_function_without_a_handler_is_rejected_with_advice(face: Face) -> None:
    def send() -> None: ...

    with pytest.raises(TypeError, match=r"send is not a handler: declare it with @app.task"):
        await face("enqueue", send)


async def test_function_without_a_handler_is_rejected_before_its_arguments(face: Face) -> None:
    def send(name: str) -> None: ...

    with pytest.raises(TypeError, match=r"send is not a handler"):
        await face("enqueue", send, name="Ada")


async def test_non_task_argument_is_rejected_by_its_type(face: Face) -> None:
    with pytest.raises(TypeError, match="not a int"):
        await face("enqueue", 7)


async def test_payload_field_given_as_an_option_is_explained(face: Face) -> None:
    with pytest.raises(TypeError, match=r"name= is not an option of a task; .*enqueue\(handler, \{'name': \.\.\.\}\)"):
        await face("enqueue", "greet", name="Ada")


async def test_unknown_argument_suggests_a_similar_name(face: Face, greet: Any) -> None:
    with pytest.raises(
        TypeError, match="nmae= is neither a field of 'greet' nor an option of a task; did you mean 'name'"
    ):
        await face("enqueue", greet, nmae="Ada")


async def test_argument_that_is_both_field_and_option_is_reported_as_ambiguous(face: Face) -> None:
    @App("letters").task
    async def post(key: str) -> None: ...

    with pytest.raises(
        TypeError, match=r"key= is a field of 'post' and an option of a task: write post.task\(key=\.\.\.\)"
    ):
        await face("enqueue", post, key="a")


async def test_misspelled_option_suggests_the_right_name(face: Face, greet: Any) -> None:
    with pytest.raises(TypeError, match="prioritiy= is not an option of a task; did you mean 'priority'"):
        await face("enqueue", greet, {"name": "Ada"}, prioritiy=3)


async def test_option_of_another_library_suggests_its_equivalent(face: Face, greet: Any) -> None:
    with pytest.raises(TypeError, match="queue= is neither a field of 'greet' nor an option of a task; use role="):
        await face("enqueue", greet, name="Ada", queue="mail")


async def test_misspelled_handler_suggests_the_right_name(face: Face) -> None:
    with pytest.raises(UnknownRole, match="no handler 'greeet' is known; did you mean 'greet'"):
        await face("enqueue", "greeet", {"name": "Ada"})


async def test_misspelled_handler_is_reported_even_with_a_known_role(face: Face) -> None:
    with pytest.raises(HandlerMissing, match="no handler named 'greeet' is declared here; did you mean 'greet'"):
        await face("enqueue", "greeet", {"name": "Ada"}, role="mail")


async def test_handler_of_another_program_can_be_named_with_its_role(face: Face, database: str, kind: Kind) -> None:
    other = App("other")

    @other.task(role="letters")
    async def print_letter() -> None: ...

    declaring = Face(kind, database, other)
    await declaring("enqueue", print_letter)
    await declaring("close")

    assert (await face("enqueue", "print_letter", role="letters")).id > 0
    assert (await face("enqueue", "print_letter")).id > 0


def test_procedure_of_the_app_is_found(app: App) -> None:
    app.procedure("count", "shop.count", role="sums")

    assert new_task("count", None, {"role": "sums"}, app).handler == "count"


async def test_delay_and_timeout_can_be_timedeltas(kind: Kind, database: str) -> None:
    app = App("shop")

    @app.task
    async def remind() -> None: ...

    face = Face(kind, database, app)
    stored = await face("enqueue", remind, after=timedelta(minutes=2), timeout=timedelta(seconds=90))
    task = await face("get", stored.id)
    await face("close")

    assert timedelta(minutes=1, seconds=59) < task.scheduled_for - task.created_at < timedelta(minutes=2, seconds=1)
    assert task.timeout == 90


@pytest.mark.parametrize(
    ("word", "value", "expected"),
    [
        ("key", 7, "text, got int: 7"),
        ("dedupe_key", 7, "text, got int: 7"),
        ("dedupe", "reject", "a Dedupe, got str: 'reject'"),
        ("retry", 3, "a RetryPolicy, got int: 3"),
        ("priority", "high", "a whole number, got str: 'high'"),
        ("max_attempts", "3", "a whole number, got str: '3'"),
        ("after", "soon", "a number of seconds or a timedelta, got str: 'soon'"),
        ("timeout", "1m", "a number of seconds or a timedelta, got str: '1m'"),
        ("expires", "1m", "seconds, a timedelta or a datetime, got str: '1m'"),
        ("scheduled_for", "2030-01-01T00:00:00Z", "a datetime with a time zone, got str: '2030-01-01T00:00:00Z'"),
        ("scheduled_for", date(2030, 1, 1), "a datetime with a time zone, got date: datetime.date(2030, 1, 1)"),
    ],
)
async def test_option_of_the_wrong_type_is_rejected(
    face: Face, greet: Any, word: str, value: object, expected: str
) -> None:
    with pytest.raises(InvalidTask, match=f"{word} must be {re.escape(expected)}"):
        await face("enqueue", "print", **{word: value})


@pytest.mark.parametrize("ids", [[1.5], ["1"]])
async def test_non_integer_id_is_rejected(face: Face, ids: list[Any]) -> None:
    with pytest.raises(TypeError, match="an id is an integer"):
        await face("cancel", ids)


async def test_text_in_place_of_a_task_is_rejected(face: Face) -> None:
    with pytest.raises(TypeError, match="by its id or as returned by enqueue"):
        await face("wait", "5", timeout=1)
