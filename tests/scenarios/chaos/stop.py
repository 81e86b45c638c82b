"""Whether a process was told to stop."""

from __future__ import annotations

import signal
import time
from types import FrameType


class StopSignal:
    """A flag that SIGTERM raises, and no Event.

    A handler runs amidst whatever its thread is doing. Within an Event's wait that may be to hold the Event's lock:
    `set` would wait for it for ever, as nobody else lets it go.
    """

    def __init__(self) -> None:
        self._came = False
        signal.signal(signal.SIGTERM, self._note)

    def comes_within(self, seconds: float) -> bool:
        """Wait so long, then return whether it has come by now."""
        time.sleep(seconds)
        return self._came

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
