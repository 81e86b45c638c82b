"""Notices that the database server's clock was set, by comparing it with this machine's monotonic clock.

The monotonic clock is read before a statement is sent and after its answer, and the server's clock is read in between.
A slow answer therefore makes a comparison less exact, and never shows a step that did not happen.
"""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.workers import ClockStep

# Steps of fewer seconds are ignored: a quarter of a lease, and the wait of a rescue, cover them.
SHORTEST_STEP = 5.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The server's clock, and the monotonic times before and after it was read."""

    sent_at: float
    answered_at: float
    server_time: float
    steps: int

    def find_step_since(self, earlier: Reading) -> ClockStep | None:
        """Return the step of the server's clock since an earlier reading, if there was one."""
        at_least = (self.server_time - self.answered_at) - (earlier.server_time - earlier.sent_at)
        at_most = (self.server_time - self.sent_at) - (earlier.server_time - earlier.answered_at)
        if at_least < SHORTEST_STEP and at_most > -SHORTEST_STEP:
            return None
        elapsed = self.answered_at - earlier.sent_at
        return ClockStep(
            steps=earlier.steps,
            seconds=at_most,
            after=earlier.server_time + elapsed,
            before=self.server_time - elapsed,
        )
