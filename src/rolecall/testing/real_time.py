"""Real time for the event loop of a test that has frozen the time, as freezegun does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

READINGS = 100


@contextmanager
def real_time() -> Iterator[None]:
    """Let the running loop use real time until the block ends. By a frozen clock, its sleeps and timeouts never end."""
    loop = asyncio.get_running_loop()
    # Other loops have a clock of their own, which tests do not freeze.
    if not isinstance(loop, asyncio.BaseEventLoop) or not _is_frozen(time.monotonic) or "time" in vars(loop):
        yield
        return
    vars(loop)["time"] = partial(time.clock_gettime, time.CLOCK_MONOTONIC)
    try:
        yield
    finally:
        del vars(loop)["time"]


def _is_frozen(clock: Callable[[], float]) -> bool:
    return len({clock() for _ in range(READINGS)}) == 1
