"""Isolates attempts: each runs as an asyncio task of its own, with context variables of its own."""

from __future__ import annotations

import asyncio
import decimal
from collections.abc import Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any

__all__ = ["fresh_context", "run_isolated", "take_back_cancellation"]


async def run_isolated(attempt: Coroutine[Any, Any, None]) -> None:
    """Run an attempt to its end in an asyncio task and a context of its own; raise what it raises.

    Cancelling the caller cancels the attempt. An attempt that ends as cancelled by its own doing does not cancel the
    caller.
    """
    try:
        await asyncio.get_running_loop().create_task(attempt, context=fresh_context())
    except asyncio.CancelledError:
        caller = asyncio.current_task()
        if caller is None or caller.cancelling():
            raise


def fresh_context() -> Context:
    """Return a copy of the current context for one attempt.

    The decimal module keeps an object in a context variable and changes it in place: a plain copy of the context would
    share it.
    """
    context = copy_context()
    arithmetic = None if DECIMAL is None else context.get(DECIMAL)
    if arithmetic is not None:
        context.run(decimal.setcontext, arithmetic.copy())
    return context


def take_back_cancellation(task: asyncio.Task[Any] | None) -> None:
    """Forget every cancellation that a task has been sent so far."""
    while task is not None and task.cancelling():
        task.uncancel()


def _find_decimal_variable() -> ContextVar[decimal.Context] | None:
    """Return the decimal module's variable, which it does not export; None where decimal uses thread-locals."""
    empty = Context()
    empty.run(decimal.getcontext)
    return next(iter(empty), None)


DECIMAL = _find_decimal_variable()
