"""What a handler must be so that a process of its own can run it (`process=True`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rolecall.app.signature import annotation_name
from rolecall.model.errors import InvalidDeclaration

__all__ = ["require_process"]

# These reach into the worker: its connections, its loop. They cannot be handed to another process.
BOUND_TO_THE_WORKER = frozenset({"Context", "BatchContext"})


def require_process(function: Callable[..., object], *, handler: str, batch: int | None) -> None:
    """Raise InvalidDeclaration, with the way out, for a function that another process cannot find or call."""
    inner = inspect.unwrap(function)
    if inspect.iscoroutinefunction(inner):
        raise _refused(handler, "is async: a process runs plain functions (def), without a loop")
    if batch is not None:
        raise _refused(handler, "takes batches: a process runs one task at a time")
    if "<" in getattr(inner, "__qualname__", "<"):
        raise _refused(handler, "stands inside a function: a process finds handlers at the top of a module only")
    asked = next(map(annotation_name, inspect.signature(inner).parameters.values()), "")
    if asked in BOUND_TO_THE_WORKER:
        raise _refused(handler, f"asks for a {asked}, which stays in the worker: a process is given a ProcessContext")


def _refused(handler: str, why: str) -> InvalidDeclaration:
    return InvalidDeclaration(f"handler {handler!r} cannot run in a process: it {why}")
