"""Lifespans: what a worker enters before its first task, told where it works if it wants to know."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from rolecall.model.workers import Workplace

__all__ = ["Lifespan", "begun"]

Lifespan = (
    Callable[[], AbstractAsyncContextManager[object]] | Callable[[Workplace], AbstractAsyncContextManager[object]]
)


def begun(lifespan: Lifespan, workplace: Workplace) -> AbstractAsyncContextManager[object]:
    """Call a lifespan, with the workplace if it has a parameter for it."""
    call: Callable[..., AbstractAsyncContextManager[object]] = lifespan
    return call(workplace) if _asks(call) else call()


def _asks(call: Callable[..., Any]) -> bool:
    parameters = inspect.signature(call).parameters.values()
    return any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)
