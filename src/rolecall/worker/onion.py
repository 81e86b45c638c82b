"""Puts an app's middlewares around the call of a handler; every way to run one goes through here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rolecall.app.middlewares import Middleware

__all__ = ["wrap"]

# The first argument is the attempt's context; the others are the runner's own.
Call = Callable[..., Awaitable[Any]]


def wrap(call: Call, middlewares: Sequence[Middleware]) -> Call:
    """Return the call inside its middlewares, the first outermost; without any it is the call itself."""
    for middleware in reversed(middlewares):
        call = _around(middleware, call)
    return call


def _around(middleware: Middleware, inner: Call) -> Call:
    async def outer(context: Any, *arguments: Any) -> Any:
        return await middleware(context, lambda: inner(context, *arguments))

    return outer
