"""Writes the worker's log lines: a summary every few seconds, and a debug line for each claim."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from time import monotonic

from rolecall.model.tasks import ClaimedTask
from rolecall.worker.in_flight import HeldTask, InFlight

SUMMARY_EVERY = 5.0
MOST_UNSTORED = 10

log = logging.getLogger("rolecall.worker")


class LogReporter:
    """Logs a summary of the outcomes in `counts`, by kind. Outcomes themselves are logged from their events."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self.counts: Counter[str] = Counter()
        self._since = monotonic()
        self._unstored = 0

    async def summarize(self) -> None:
        now = monotonic()
        seconds, self._since = now - self._since, now
        counts, self.counts = self.counts, Counter()
        self._unstored = 0
        if counts:
            done = counts.total()
            parts = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
            rate, unfinished = done / max(seconds, 0.001), len(self._in_flight)
            log.info("Attempts: %s in %.1f s (%.0f/s), %d unfinished", parts, seconds, rate, unfinished)

    def log_unstored(self, held: HeldTask, why: str) -> None:
        """Log that the result of a completed task was not stored, a few times per summary."""
        self._unstored += 1
        if self._unstored <= MOST_UNSTORED:
            log.warning("The result of task %d (%s) was not stored: %s", held.task.id, held.task.handler, why)
        elif self._unstored == MOST_UNSTORED + 1:
            log.warning("More results were not stored")


def log_claims(held_tasks: Sequence[HeldTask]) -> None:
    """Log each claimed task."""
    for held in held_tasks:
        log.debug("Claimed task %s attempt %d", _describe(held.task, held.task.role), held.task.attempt)


def _describe(task: ClaimedTask, what: str) -> str:
    return f"{task.id} ({what})" if task.key is None else f"{task.id} ({what}) for {task.key}"
