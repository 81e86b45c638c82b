"""Whether a worker is well, as probes ask: is it *alive*, or does only a restart help, and is it *ready* to take tasks?

    alive    its loop turns, its heartbeat thread runs, and what claims has not come to a halt
    ready    alive, started, the database answers and accepts writes, and no drain or stop was requested

A database that is away or read-only makes a worker unready, and never dead: a restart would not help. A worker
that is busy is well, however long its tasks take: a full worker does not claim, and nobody expects it to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rolecall.model.workers import WorkerCommand

__all__ = ["BLOCKED_FOR", "Signs", "WorkerHealth", "judge"]

# Seconds. A handler that blocks the loop keeps its leases meanwhile: it is ended for a blockage, not for a hiccup.
BLOCKED_FOR = 30.0
STUCK_FOR = 60.0


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """How a worker is: `dead` says what only a restart mends, `unready` why it takes no tasks; None: that is well."""

    dead: str | None = None
    unready: str | None = None

    @property
    def alive(self) -> bool:
        """True unless only a restart helps."""
        return self.dead is None

    @property
    def ready(self) -> bool:
        """True if it takes tasks, or would if it had room."""
        return self.dead is None and self.unready is None

    @property
    def reason(self) -> str:
        """What keeps it from being ready; empty if nothing does."""
        return self.dead or self.unready or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What can be seen of a worker from another thread.

    `lag`: for how long the loop has not turned. `beating`: whether the heartbeat thread runs. `behind`: for how long
    the producer should have gone on, without a reason to wait. `trouble`: the problem with the database, such as
    that it does not answer or accepts no writes.
    """

    lag: float = 0.0
    beating: bool = True
    behind: float = -math.inf
    trouble: str | None = None
    command: WorkerCommand | None = None


def judge(signs: Signs) -> WorkerHealth:
    """Say how a worker is that shows these signs."""
    if signs.lag > BLOCKED_FOR:
        return WorkerHealth(dead=f"its loop has not turned for {signs.lag:.0f} s")
    if not signs.beating:
        return WorkerHealth(dead="its heartbeat thread has ended")
    if signs.trouble is not None:
        return WorkerHealth(unready=signs.trouble)
    if signs.behind > STUCK_FOR:
        return WorkerHealth(dead=f"it has claimed nothing for {signs.behind:.0f} s, though it has room")
    if signs.command is not None:
        return WorkerHealth(unready=f"it was told to {signs.command}")
    return WorkerHealth()
