"""The event loop of a worker process: uvloop where it is installed, and a collector that does not pause the
work.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

try:
    from uvloop import new_event_loop
except ImportError:  # pragma: no cover - not on every platform
    from asyncio import new_event_loop  # type: ignore[assignment]  # the loop that every Python has

T = TypeVar("T")

# A batch of a thousand claimed tasks is some ten thousand objects, all short-lived: the default of 700
# collects in vain.
COLLECT_AFTER = 50_000


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program's main coroutine to its end and return what it returns."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    make: Callable[[], asyncio.AbstractEventLoop] = new_event_loop
    with asyncio.Runner(loop_factory=make) as runner:
        return runner.run(main)
