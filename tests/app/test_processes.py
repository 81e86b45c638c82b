"""The requirements for a handler that runs in its own process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rolecall import App, BatchContext, Context, InvalidDeclaration, ProcessContext


def plain(n: int) -> int:
    return n + 1


def informed(ctx: ProcessContext, n: int) -> None: ...


async def waiting(n: int) -> None: ...


def several(items: list[dict[str, int]]) -> None: ...


def writing(ctx: Context, n: int) -> None: ...


def writing_together(them: BatchContext, n: int) -> None: ...


def nested() -> Callable[..., object]:
    def inner(n: int) -> None: ...

    return inner


@pytest.mark.parametrize(
    ("function", "options", "problem"),
    [
        (waiting, {}, r"'waiting' cannot run in a process: it is async: a process runs only synchronous functions"),
        (several, {"batch": 10}, "takes batches: a process runs one task at a time"),
        (writing, {}, "takes a Context, which stays in the worker: use a ProcessContext"),
        (writing_together, {}, "takes a BatchContext"),
        (nested(), {}, "is inside a function"),
        (lambda: None, {}, "is inside a function"),
    ],
)
def test_handler_that_no_process_can_run_is_rejected_immediately(
    function: Callable[..., object], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidDeclaration, match=problem):
        App("test").task(process=True, **options)(function)


def test_process_handler_can_be_called_directly() -> None:
    handler = App("test").task(process=True)(plain)

    assert (handler.process, handler(1), handler.task(n=1).payload) == (True, 2, {"n": 1})


def test_process_context_is_not_part_of_the_payload() -> None:
    handler = App("test").task(process=True)(informed)

    assert (handler.takes_context, handler.signature.arguments) == (True, ("n",))
