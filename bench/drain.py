"""Measures how fast workers run queued tasks: from the first task's start until nothing is left unfinished."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.asked import HANDLER_SECONDS
from bench.crew import Crew
from bench.processes import cpu_of_server
from bench.tally import Counts, clear, read_counts

LOOK_SECONDS = 0.01
LAST_LOOK_SECONDS = 0.002
NANO = 1e-9
SHORTEST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """The result of a drain, from the first task function on.

    `rate` is tasks per second until the database contains no unfinished task, `exec_rate` until the last task
    function was called. CPU is in seconds since the first reading after the start, for `cpu_tasks` tasks.
    """

    n: int
    procs: int
    executed: int
    left: int
    partial: bool
    startup_s: float
    exec_s: float
    done_s: float
    exec_rate: float
    rate: float
    worker_cpu_s: float
    server_cpu_s: float
    cpu_tasks: int


class DrainFailed(Exception):
    """Nothing ran, or a worker exited unexpectedly."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The clock (nanoseconds), and until then: CPU seconds of the workers and of the server, executions."""

    at: int
    workers: float
    server: float
    executed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The moments of a drain: the launch of the workers, the first task seen running, and the end."""

    launched: int
    first: Moment
    last: Moment


class Drain:
    """Runs workers over a filled queue; `pending` counts the unfinished tasks in the database."""

    def __init__(self, folder: Path, log: Path, postmaster: int, pending: Callable[[], int]) -> None:
        self._folder = folder
        self._log = log
        self._postmaster = postmaster
        self._pending = pending

    def run(self, script: str, number: int, processes: int, seconds: float) -> Drained:
        """Drain with this many processes, for at most `seconds`. Raises DrainFailed."""
        clear(self._folder)
        before, launched, deadline = self._pending(), time.time_ns(), time.monotonic() + seconds
        with Crew(script, processes, self._log) as crew:
            self._wait_for(1, crew, deadline)
            first = self._moment(crew, time.time_ns())
            self._wait_for(number, crew, deadline)
            # Until the last handlers have returned, a query would be useless.
            time.sleep(HANDLER_SECONDS)
            left = self._settle(number, deadline)
            last = self._moment(crew, time.time_ns())
        span = Span(launched=launched, first=first, last=last)
        return _sum_up(number, processes, read_counts(self._folder), span, queued=(before, left))

    def _wait_for(self, number: int, crew: Crew, deadline: float) -> None:
        while read_counts(self._folder).total < number and time.monotonic() < deadline:
            if crew.has_lost_one():
                raise DrainFailed(f"a worker exited: {crew.last_words()}")
            time.sleep(LOOK_SECONDS)
        if not read_counts(self._folder).total:
            raise DrainFailed(f"nothing ran: {crew.last_words()}")

    def _settle(self, number: int, deadline: float) -> int:
        """Wait until the database contains all results; return how many tasks are left in it."""
        left = self._pending()
        while left and read_counts(self._folder).total >= number and time.monotonic() < deadline:
            time.sleep(LAST_LOOK_SECONDS)
            left = self._pending()
        return left

    def _moment(self, crew: Crew, now: int) -> Moment:
        return Moment(now, crew.cpu, cpu_of_server(self._postmaster), read_counts(self._folder).total)


def _sum_up(number: int, processes: int, counts: Counts, span: Span, queued: tuple[int, int]) -> Drained:
    (before, left), first, last = queued, span.first, span.last
    whole = counts.total >= number
    finished = number if whole and not left else min(counts.total, max(0, before - left))
    running = (counts.last - counts.first) * NANO
    lasted = ((last.at if whole else counts.last) - counts.first) * NANO
    return Drained(
        n=number,
        procs=processes,
        executed=counts.total,
        left=left,
        partial=bool(left) or not whole,
        startup_s=round((counts.first - span.launched) * NANO, 3),
        exec_s=round(running, 4),
        done_s=round(lasted, 4),
        exec_rate=round((counts.total - 1) / max(SHORTEST, running), 1),
        rate=round(finished / max(SHORTEST, lasted), 1),
        worker_cpu_s=round(last.workers - first.workers, 2),
        server_cpu_s=round(last.server - first.server, 2),
        cpu_tasks=last.executed - first.executed,
    )
