"""Simulated time: a step number that grows with the wall clock, on command, or both."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

FIRST_STEP_AT = datetime(2025, 11, 3, 6, 0, tzinfo=UTC)
STEP = timedelta(hours=4)
STEP_MILLISECONDS = 14_400_000

_FIRST_MILLISECOND = int(FIRST_STEP_AT.timestamp()) * 1000


class SimulatedClock:
    """Counts simulated steps of four hours; step 0 began at `epoch` (unix seconds)."""

    def __init__(self, *, step_seconds: float, epoch: float | None) -> None:
        self._step_seconds = step_seconds
        self._epoch = time.time() if epoch is None else epoch
        self._advanced_steps = 0

    @property
    def step(self) -> int:
        if self._step_seconds == 0:
            return self._advanced_steps
        return self._advanced_steps + max(0, int((time.time() - self._epoch) / self._step_seconds))

    def advance(self, steps: int) -> int:
        if steps < 0:
            raise ValueError(f"simulated time cannot go back: {steps} steps")
        self._advanced_steps += steps
        return self.step


def iso_text(step: int) -> str:
    """Return the start of a step in the form of the upstream's `updatedAt`."""
    return (FIRST_STEP_AT + step * STEP).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def epoch_text(step: int, milliseconds: int = 0) -> str:
    """Return a time of a step in the form of the upstream's `createdAt`: milliseconds since 1970, as a string."""
    return str(_FIRST_MILLISECOND + step * STEP_MILLISECONDS + milliseconds)
