"""Results that state whether an attempt succeeded, and three example handlers.

    app = App("shop")
    app.include(task_results.examples())           # dummy, echo and the fallback `default`; optional
    app.mount("rolecall.web.own_tasks:router")     # the corresponding HTTP routes

    @app.task(role="default")
    async def report(month: str) -> TaskResult:
        return TaskResult(success=True, message="sent", data={"pages": 3})

A result with `success=False` fails the attempt, with its message as the error. The role's retry policy applies.
`app.use(task_results.judged)` does this for all handlers of the app.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import Any

from rolecall.app import App, Next
from rolecall.model.errors import HandlerError
from rolecall.model.retry import linear

__all__ = ["ROLE", "TaskFailed", "TaskResult", "examples", "judged"]

ROLE = "default"
# The first attempt and five more, after 5, 10, 15, 20 and 25 seconds.
ATTEMPTS = 6
LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The result of an attempt. `message` is cut to 500 characters."""

    success: bool
    message: str = ""
    data: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", self.message[:LONGEST_MESSAGE])


class TaskFailed(HandlerError):
    """Raised for a result that reports a failure."""


async def judged(_ctx: object, call_next: Next) -> object:
    """A middleware that raises TaskFailed for an unsuccessful TaskResult. Other results are stored as plain objects."""
    result = await call_next()
    if not isinstance(result, TaskResult):
        return result
    if not result.success:
        raise TaskFailed(result.message or "the result reports no success")
    return asdict(result)


def examples() -> App:
    """Return an app to include: a handler that succeeds at once, one that returns its payload, and a fallback."""
    slice_ = App("examples", middlewares=[judged])
    slice_.role(ROLE, retry=linear(), max_attempts=ATTEMPTS)
    for handler in (dummy, echo, default):
        slice_.task(handler.__name__, role=ROLE)(handler)
    return slice_


async def dummy(**payload: Any) -> TaskResult:
    """Wait for the payload's `seconds`, if given, and succeed."""
    await asyncio.sleep(float(payload.get("seconds", 0)))
    return TaskResult(success=True, message="done")


async def echo(**payload: Any) -> TaskResult:
    """Return the payload."""
    return TaskResult(success=True, message="echo", data=payload)


async def default(**payload: Any) -> TaskResult:
    """Do nothing and succeed: the fallback for tasks without a handler."""
    return TaskResult(success=True, message="no handler named: nothing was done", data=payload)
