"""What stands around each attempt of a handler: how a middleware looks, and which ones an app insists on."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, Protocol

from rolecall.model.errors import InvalidDeclaration

__all__ = ["Middleware", "Next", "checked", "require"]


class Next(Protocol):
    """What is inside of a middleware: the next one, at last the handler. It returns and raises what they do."""

    def __call__(self) -> Awaitable[Any]: ...


class Middleware(Protocol):
    """Stands around each attempt; may look at it, change its result, raise, or return a Snooze or Cancel instead.

    async def timed(ctx: Context, call_next: Next) -> object:
        with timer(ctx.handler):
            return await call_next()

    `ctx` is the attempt's Context, around a batch its BatchContext. An error in it is one of the task.
    """

    def __call__(self, ctx: Any, call_next: Next, /) -> Awaitable[Any]: ...


def checked(middlewares: Iterable[Middleware]) -> tuple[Middleware, ...]:
    """Return the middlewares in their order; raise InvalidDeclaration for one that cannot be awaited."""
    several = tuple(middlewares)
    for middleware in several:
        if not (inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(type(middleware).__call__)):
            raise InvalidDeclaration(f"{_name(middleware)} is no middleware: it must be async (ctx, call_next)")
    return several


def require(required: Sequence[Middleware], found: Sequence[Middleware], *, handler: str) -> None:
    """Raise InvalidDeclaration unless the required ones are among those found, in the same order."""
    rest = iter(found)
    if all(any(wanted == present for present in rest) for wanted in required):
        return
    wanted = ", ".join(map(_name, required))
    present = ", ".join(map(_name, found)) or "none"
    raise InvalidDeclaration(
        f"handler {handler!r} lacks required middlewares: {wanted}, in this order; it has {present}"
    )


def _name(middleware: object) -> str:
    return str(getattr(middleware, "__qualname__", None) or type(middleware).__qualname__)
