"""The event loop of a worker process: uvloop if it is installed, and fewer garbage collections."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, TypeVar

try:
    from uvloop import new_event_loop
except ImportError:  # pragma: no cover - not on every platform
    from asyncio import new_event_loop  # type: ignore[assignment]  # Python's default loop

T = TypeVar("T")

# A batch of a thousand claimed tasks has about ten thousand short-lived objects. With the default threshold of 700,
# most collections would find nothing.
COLLECT_AFTER = 50_000
END_WITHIN = 1.0

log = logging.getLogger("rolecall.worker")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program's main coroutine and return its result. Remaining tasks are cancelled.

    Tasks that ignore the cancellation, and threads of `asyncio.to_thread`, are not awaited.
    """
    make: Callable[[], asyncio.AbstractEventLoop] = new_event_loop
    runner = asyncio.Runner(loop_factory=make)
    try:
        gc.collect()
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 20, 50)
        return runner.run(main)
    finally:
        # Not `runner.close()`, which waits for tasks and threads without a limit.
        _close(runner.get_loop())
        if getcoroutinestate(main) == CORO_CREATED:
            main.close()  # a signal came first: no warning that it was never awaited


def _close(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_until_complete(_end_all())
    finally:
        loop.close()


async def _end_all() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    rest.add(asyncio.create_task(asyncio.get_running_loop().shutdown_asyncgens()))
    _, stubborn = await asyncio.wait(rest, timeout=END_WITHIN)
    for task in stubborn:
        log.warning("%s has not ended within %g s and is abandoned", task.get_name(), END_WITHIN)
