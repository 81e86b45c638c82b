"""Polls for the end of a task or a chain, with growing pauses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from rolecall.model.errors import WaitTimeout

T = TypeVar("T")
FIRST = 0.01
LONGEST = 0.25
GROWTH = 1.5


def pauses() -> Iterator[float]:
    """Yield the seconds to sleep between polls: 10 ms, growing to 250 ms."""
    pause = FIRST
    while True:
        yield pause
        pause = min(LONGEST, pause * GROWTH)


def poll_until(look: Callable[[], T], done: Callable[[T], bool], late: WaitTimeout) -> T:
    """Poll until the value is done, and return it. Raises `late` after its number of seconds."""
    deadline = time.monotonic() + late.seconds
    for pause in pauses():
        seen = look()
        if done(seen):
            return seen
        left = deadline - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(pause, left))
    raise late


async def poll_until_async(look: Callable[[], Awaitable[T]], done: Callable[[T], bool], late: WaitTimeout) -> T:
    """Poll until the value is done, and return it. Raises `late` after its number of seconds."""
    deadline = time.monotonic() + late.seconds
    for pause in pauses():
        seen = await look()
        if done(seen):
            return seen
        left = deadline - time.monotonic()
        if left <= 0:
            break
        await asyncio.sleep(min(pause, left))
    raise late
