"""Tells a person what the worker does: one summary line a few seconds at high rates, one line a task on
request.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from time import monotonic

from rolecall.model.outcomes import Completed, Failed, Report
from rolecall.worker.in_flight import Hands, Held

SUMMARY_EVERY = 5.0
FAILURES_TOLD = 10

log = logging.getLogger("rolecall.worker")


class Narrator:
    """Counts outcomes; every claim and outcome is a DEBUG line, failures are WARNING lines up to a few a
    summary.
    """

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._counts: Counter[str] = Counter()
        self._since = monotonic()
        self._told = 0

    def claimed(self, several: Sequence[Held]) -> None:
        if log.isEnabledFor(logging.DEBUG):
            for held in several:
                task = held.task
                log.debug("Claimed task %d (%s) attempt %d", task.id, task.role, task.attempt)

    def settled(self, some: Sequence[Held], lost: Mapping[int, str]) -> None:
        """Count the outcomes that were accepted; `lost` holds the others' verdicts."""
        if lost:
            some = [held for held in some if held.task.id not in lost]
        self._counts.update(type(held.report).__name__.lower() for held in some)
        for held in some:
            if type(held.report) is Failed:
                self._tell_failure(held, held.report)
            elif type(held.report) is Completed and held.report.unstored is not None:
                self._tell_unstored(held, held.report.unstored)
        if log.isEnabledFor(logging.DEBUG):
            for held in some:
                log.debug("Task %d %s", held.task.id, _word(held.report))

    def released(self, some: Sequence[Held]) -> None:
        self._counts["released"] += len(some)

    async def summarize(self) -> None:
        """Write one line about what happened since the last one; nothing if nothing happened."""
        now = monotonic()
        seconds, self._since = now - self._since, now
        counts, self._counts = self._counts, Counter()
        self._told = 0
        if counts:
            done = counts.total()
            told = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
            log.info("%s in %.1f s (%.0f/s), %d held", told, seconds, done / seconds, len(self._hands))

    def _tell_failure(self, held: Held, report: Failed) -> None:
        if self._may_tell():
            task = held.task
            headline = report.error.partition("\n")[0]
            log.warning(
                "Task %d (%s) failed at attempt %d: %s",
                task.id,
                task.handler,
                task.attempt,
                headline,
                extra={"traceback": report.error},
            )

    def _tell_unstored(self, held: Held, why: str) -> None:
        if self._may_tell():
            log.warning("The result of task %d (%s) was not stored: %s", held.task.id, held.task.handler, why)

    def _may_tell(self) -> bool:
        self._told += 1
        if self._told == FAILURES_TOLD + 1:
            log.warning("More tasks fail; the next summary counts them")
        return self._told <= FAILURES_TOLD


def _word(report: Report | None) -> str:
    return type(report).__name__.lower()
