"""Writes the worker's log lines: a summary every few seconds, and a debug line for each claim."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from time import monotonic

from rolecall.model.outcomes import Completed
from rolecall.model.tasks import ClaimedTask
from rolecall.worker.in_flight import HeldTask, InFlight

SUMMARY_EVERY = 5.0
MOST_UNSTORED = 10

log = logging.getLogger("rolecall.worker")


class LogReporter:
    """Counts outcomes for the summary and logs claims. Outcomes themselves are logged from their events."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._counts: Counter[str] = Counter()
        self._since = monotonic()
        self._unstored = 0

    def log_claims(self, held_tasks: Sequence[HeldTask]) -> None:
        if log.isEnabledFor(logging.DEBUG):
            for held in held_tasks:
                log.debug("Claimed task %s attempt %d", _describe(held.task, held.task.role), held.task.attempt)

    def count_outcomes(self, held_tasks: Sequence[HeldTask], lost: Mapping[int, str]) -> None:
        if lost:
            held_tasks = [held for held in held_tasks if held.task.id not in lost]
        self._counts.update(type(held.report).__name__.lower() for held in held_tasks)
        for held in held_tasks:
            if type(held.report) is Completed and held.report.unstored is not None:
                self._log_unstored(held, held.report.unstored)

    def count_released(self, held_tasks: Sequence[HeldTask]) -> None:
        self._counts["released"] += len(held_tasks)

    async def summarize(self) -> None:
        now = monotonic()
        seconds, self._since = now - self._since, now
        counts, self._counts = self._counts, Counter()
        self._unstored = 0
        if counts:
            done = counts.total()
            parts = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
            log.info("%s in %.1f s (%.0f/s), %d held", parts, seconds, done / seconds, len(self._in_flight))

    def _log_unstored(self, held: HeldTask, why: str) -> None:
        if self._may_warn():
            log.warning("The result of task %d (%s) was not stored: %s", held.task.id, held.task.handler, why)

    def _may_warn(self) -> bool:
        self._unstored += 1
        if self._unstored == MOST_UNSTORED + 1:
            log.warning("More results were not stored")
        return self._unstored <= MOST_UNSTORED


def _describe(task: ClaimedTask, what: str) -> str:
    return f"{task.id} ({what})" if task.key is None else f"{task.id} ({what}) for {task.key}"
