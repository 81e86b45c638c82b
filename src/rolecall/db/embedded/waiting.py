"""Waiting for a fact, with a limit: the only loop of the supervisor that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable

POLL_SECONDS = 0.02


def wait_until(fact: Callable[[], bool], seconds: float) -> bool:
    """Ask again and again whether the fact holds; False when it did not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
