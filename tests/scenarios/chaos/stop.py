"""A flag for the stop signal of a process."""

from __future__ import annotations

import signal
import time
from types import FrameType


class StopSignal:
    """A flag that SIGTERM sets. It is not a threading.Event.

    The signal handler can interrupt its thread anywhere. If it interrupted a wait that holds the Event's lock, `set`
    would deadlock.
    """

    def __init__(self) -> None:
        self._came = False
        signal.signal(signal.SIGTERM, self._note)

    def comes_within(self, seconds: float) -> bool:
        """Wait up to this many seconds. Return whether the signal has arrived."""
        time.sleep(seconds)
        return self._came

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
