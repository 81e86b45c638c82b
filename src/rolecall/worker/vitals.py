"""Watches what a worker uses, and lets it back off before the kernel or its neighbours suffer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic, time

from rolecall.model.workers import Condition
from rolecall.worker.options import WorkerOptions
from rolecall.worker.resources import Resources, Usage

log = logging.getLogger("rolecall.worker")


class Pressure:
    """Says whether, and why, to back off: from a reading over a threshold until `duration` seconds after the last
    one. Pure arithmetic.
    """

    def __init__(self, *, memory: float | None, cpu: float | None, duration: float) -> None:
        self._thresholds = {"memory": memory, "cpu": cpu}
        self._duration = duration
        self._until = 0.0
        self.reason: str | None = None

    @property
    def has_threshold(self) -> bool:
        return any(self._thresholds.values())

    def note(self, usage: Usage, now: float) -> None:
        """Take a reading into account."""
        reason = self._excess({"memory": usage.memory, "cpu": usage.cpu})
        if reason is not None:
            self.reason, self._until = reason, now + self._duration
        elif now >= self._until:
            self.reason = None

    def _excess(self, shares: dict[str, float | None]) -> str | None:
        for name, share in shares.items():
            threshold = self._thresholds[name]
            if threshold is not None and share is not None and share > threshold:
                return f"{name} at {share:.0%}, over the threshold of {threshold:.0%}"
        return None


class Vitals:
    """Lives in the pulse's thread; `backs_off` hears there of every change: the reason, or that it is over."""

    def __init__(self, options: WorkerOptions, backs_off: Callable[[str | None], None]) -> None:
        self._resources = Resources.of_this_process()
        self._pressure = Pressure(
            memory=options.memory_backoff, cpu=options.cpu_backoff, duration=options.backoff_duration
        )
        self._backs_off = backs_off

    async def look(self) -> None:
        """Measure, and back off or go on; nothing where no threshold is set."""
        if self._pressure.has_threshold:
            self._judge(self._resources.read())

    def condition(self) -> Condition:
        """Measure, and say what the roll should know of this worker."""
        usage = self._resources.read()
        self._judge(usage)
        return Condition(
            cpu=usage.cpu,
            memory=usage.memory,
            memory_bytes=usage.memory_bytes,
            clock=time(),
            backing_off=self._pressure.reason,
        )

    def _judge(self, usage: Usage) -> None:
        before = self._pressure.reason
        self._pressure.note(usage, monotonic())
        after = self._pressure.reason
        if (before is None) is not (after is None):
            log.warning("Backing off: %s" if after else "No longer backing off: %s is over", after or before)
            self._backs_off(after)
