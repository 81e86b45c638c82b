"""The health of a worker for probes.

    alive    its loop turns, its heartbeat thread runs, and its producer is not stuck
    ready    alive, started, the database answers and accepts writes, and no drain or stop was requested

A database that is away or read-only makes a worker unready, not dead: a restart would not help. A worker with no free
slot is healthy, however long its tasks take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rolecall.model.workers import WorkerCommand

# Seconds. Leases are renewed while a handler blocks the loop, so a short blockage does not require a restart.
BLOCKED_FOR = 30.0
STUCK_FOR = 60.0


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """The health of a worker: `dead` requires a restart, `unready` is why it claims no tasks."""

    dead: str | None = None
    unready: str | None = None

    @property
    def alive(self) -> bool:
        """True unless only a restart helps."""
        return self.dead is None

    @property
    def ready(self) -> bool:
        """True if it claims tasks, or would with a free slot."""
        return self.dead is None and self.unready is None

    @property
    def reason(self) -> str:
        return self.dead or self.unready or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """The state of a worker that another thread can observe.

    `lag`: the seconds since the event loop last ran a callback. `beating`: whether the heartbeat thread runs. `behind`:
    the seconds by which the producer is late. `problem`: a database problem, such as no answer or a read-only
    server.
    """

    lag: float = 0.0
    beating: bool = True
    behind: float = -math.inf
    problem: str | None = None
    command: WorkerCommand | None = None


def judge(signs: Signs) -> WorkerHealth:
    if signs.lag > BLOCKED_FOR:
        return WorkerHealth(dead=f"its event loop has been blocked for {signs.lag:.0f} s")
    if not signs.beating:
        return WorkerHealth(dead="its heartbeat thread has ended")
    if signs.problem is not None:
        return WorkerHealth(unready=signs.problem)
    if signs.behind > STUCK_FOR:
        return WorkerHealth(dead=f"it has claimed nothing for {signs.behind:.0f} s, although slots are free")
    if signs.command is not None:
        return WorkerHealth(unready=f"it has the command to {signs.command}")
    return WorkerHealth()
