"""Invalid handler and role settings are rejected at their declaration and named."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rolecall import App, InvalidDeclaration, immediate

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"timeout": "30s"}, "timeout='30s' is not a valid duration"),
    ({"timeout": 0}, "timeout=0 is not a valid duration"),
    ({"timeout": timedelta(seconds=-1)}, "timeout=.* is not a valid duration"),
    ({"lease": 0.01}, "lease=0.01 is not a valid duration (0.1 to 86400 seconds"),
    ({"lease": True}, "lease=True is not a valid duration"),
    (
        {"retry": 3},
        "retry=3 is not a retry policy: use rolecall.exponential(), .*; to limit the attempts, use max_attempts=3",
    ),
    ({"retry": "never"}, "retry='never' is not a retry policy"),
    ({"max_attempts": -1}, "max_attempts=-1 is not a valid number of attempts"),
    ({"max_attempts": "3"}, "max_attempts='3' is not a valid number of attempts"),
]


@pytest.mark.parametrize(("words", "expected"), WRONG)
@pytest.mark.parametrize("kind", ["handler", "role", "procedure"])
def test_empty_option_is_rejected(kind: str, words: dict[str, Any], expected: str) -> None:
    app = App("shop")

    with pytest.raises(InvalidDeclaration, match=f"{kind} 'greet': {expected.replace('(', '.').replace(')', '.')}"):
        declare(app, kind, "greet", **words)

    assert not app.roles


FOREIGN = {"queue": "use role=", "retries": "use max_attempts=", "lock": "use key=", "time_limit": "use timeout="}


@pytest.mark.parametrize(("word", "hint"), FOREIGN.items())
def test_option_of_another_library_is_rejected_with_its_equivalent(word: str, hint: str) -> None:
    options: dict[str, Any] = {word: 3}

    with pytest.raises(TypeError, match=f"^{word}= is not an option of a handler; {hint}"):
        App("shop").task(**options)


def test_misspelled_option_is_rejected_with_the_nearest_one() -> None:
    options: dict[str, Any] = {"max_attempt": 3}

    with pytest.raises(TypeError, match="^max_attempt= is not an option of a handler; did you mean 'max_attempts'"):
        App("shop").task(**options)


def test_option_that_resembles_none_is_rejected_with_the_list() -> None:
    options: dict[str, Any] = {"colour": "red"}

    with pytest.raises(TypeError, match="^colour= is not an option of a handler; the options are batch, "):
        App("shop").task(**options)


@pytest.mark.parametrize("kind", ["schedule", "procedure"])
def test_foreign_option_of_a_schedule_or_procedure_is_rejected_with_a_hint(kind: str) -> None:
    options: dict[str, Any] = {"retries": 3}

    with pytest.raises(TypeError, match=f"^retries= is not an option of a {kind}; use max_attempts="):
        getattr(App("shop"), kind)("nightly", "shop.nightly", **options)


@pytest.mark.parametrize(
    ("method", "hint"),
    [("delay", "enqueue"), ("apply_async", "using"), ("defer", "enqueue"), ("send", "enqueue"), ("s", "task")],
)
def test_method_of_another_library_is_rejected_with_its_equivalent(method: str, hint: str) -> None:
    greet = App("shop").task("greet")(print_greeting)

    with pytest.raises(AttributeError, match=rf"^{method} is not a method of a handler; use {hint}\("):
        getattr(greet, method)


def test_misspelled_method_is_rejected_with_the_nearest_one() -> None:
    greet: Any = App("shop").task("greet")(print_greeting)

    with pytest.raises(AttributeError, match="^enqueu is not a method of a handler; did you mean 'enqueue'"):
        greet.enqueu()


def print_greeting(name: str) -> None: ...


@pytest.mark.parametrize("kind", ["handler", "role", "procedure"])
@pytest.mark.parametrize("name", ["bad name!", "7th", "_own", "", "x" * 64])
def test_invalid_name_is_rejected(kind: str, name: str) -> None:
    with pytest.raises(InvalidDeclaration, match="is not a valid name"):
        declare(App("shop"), kind, name)


@pytest.mark.parametrize("kind", ["handler", "procedure"])
def test_role_without_a_name_is_rejected(kind: str) -> None:
    with pytest.raises(InvalidDeclaration, match="'greet': role='bad role!' is not a valid name"):
        declare(App("shop"), kind, "greet", role="bad role!")


def test_valid_options_are_accepted() -> None:
    app = App("shop")

    declare(
        app, "handler", "greet", role="mail", timeout=timedelta(minutes=5), lease=0.1, retry=immediate(), max_attempts=0
    )

    assert list(app.roles) == ["mail"]


def declare(app: App, kind: str, name: str, **words: Any) -> None:
    if kind == "role":
        app.role(name, **words)
    elif kind == "procedure":
        app.procedure(name, "shop.greet", **words)
    else:
        # An empty name would be the function's own.
        app.task(name or " ", **words)(lambda: None)
