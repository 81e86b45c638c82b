"""The event loop of a worker process: uvloop where it is installed, and a collector that does not pause the work."""

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
    from asyncio import new_event_loop  # type: ignore[assignment]  # the loop that every Python has

T = TypeVar("T")

# A batch of a thousand claimed tasks is some ten thousand objects, all short-lived: the default of 700
# collects in vain.
COLLECT_AFTER = 50_000
END_WITHIN = 1.0

log = logging.getLogger("rolecall.worker")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program's main coroutine to its end and return what it returns; what it leaves behind is
    cancelled.

    What does not heed that, and threads of `asyncio.to_thread` that do not return, are not waited for.
    """
    make: Callable[[], asyncio.AbstractEventLoop] = new_event_loop
    runner = asyncio.Runner(loop_factory=make)
    try:
        gc.collect()
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 20, 50)
        return runner.run(main)
    finally:
        # Not by the runner's `close`: it waits as long as any task or thread pleases.
        _close(runner.get_loop())
        if getcoroutinestate(main) == CORO_CREATED:
            main.close()  # a signal was quicker: that it was never awaited is no mistake


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
        log.warning("%s has not ended within %g s and is left behind", task.get_name(), END_WITHIN)
