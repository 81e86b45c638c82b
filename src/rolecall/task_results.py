"""Results that say by themselves whether an attempt was a success, and three handlers to begin with.

    app = App("shop")
    app.include(task_results.examples())  # dummy, echo and the fallback `default`, only where they are asked for
    app.mount("rolecall.web.own_tasks:router")     # the HTTP routes that go with them

    @app.task(role="default")
    async def report(month: str) -> TaskResult:
        return TaskResult(success=True, message="sent", data={"pages": 3})

A result that says `success=False` is a failed attempt, with its message as the error: it is tried again as the role
says. `app.use(task_results.judged)` holds the handlers of the whole app to that.
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
    """What a handler says of its attempt; of `message` the first 500 characters are kept."""

    success: bool
    message: str = ""
    data: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", self.message[:LONGEST_MESSAGE])


class TaskFailed(HandlerError):
    """A handler returned a result that says that its attempt has failed."""


async def judged(_ctx: object, call_next: Next) -> object:
    """The middleware that raises TaskFailed for a TaskResult without success; others are stored as plain objects."""
    result = await call_next()
    if not isinstance(result, TaskResult):
        return result
    if not result.success:
        raise TaskFailed(result.message or "it was no success")
    return asdict(result)


def examples() -> App:
    """An app to include: handlers that answer at once, return what they are sent, and take what no other one does."""
    slice_ = App("examples", middlewares=[judged])
    slice_.role(ROLE, retry=linear(), max_attempts=ATTEMPTS)
    for handler in (dummy, echo, default):
        slice_.task(handler.__name__, role=ROLE)(handler)
    return slice_


async def dummy(**payload: Any) -> TaskResult:
    """Wait for the payload's `seconds`, if it has some, and succeed."""
    await asyncio.sleep(float(payload.get("seconds", 0)))
    return TaskResult(success=True, message="done")


async def echo(**payload: Any) -> TaskResult:
    """Return the payload."""
    return TaskResult(success=True, message="echo", data=payload)


async def default(**payload: Any) -> TaskResult:
    """Do nothing with a task that no other handler takes, and say so."""
    return TaskResult(success=True, message="no handler was named: nothing was done", data=payload)
