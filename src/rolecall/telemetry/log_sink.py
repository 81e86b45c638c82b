"""The sink of every process: writes events to the log where they occur."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic

from rolecall.telemetry.context import fields_of
from rolecall.telemetry.events import LEVELS, Event, EventType

MOST_FAILURES = 10
SPAN = 5.0
# The attribute of a record with the event's facts. JSON output contains them as fields, text output does not.
FACTS = "facts"
# These events are logged where they are noticed, with more detail or summarized.
TOLD_ELSEWHERE = frozenset(
    {
        EventType.WORKER_ERROR,
        EventType.JOB_REAPED,
        EventType.JOB_ATTEMPT_LEASE_EXPIRED,
        EventType.NOTIFY_ADAPTER_ERROR,
        EventType.STATE_ADAPTER_ERROR,
        EventType.JOB_TYPE_VALIDATION_ERROR,
    }
)
LEVEL_OF = {kind: LEVELS.get(kind, logging.DEBUG) for kind in EventType if kind not in TOLD_ELSEWHERE}
MORE_FAIL = "More tasks fail; the next summary counts them"

log = logging.getLogger("rolecall.worker")


class LogSink:
    """Writes events to the logger `rolecall.worker`. Failed attempts are limited to ten lines in five seconds."""

    def __init__(self) -> None:
        self._failures = 0
        self._span_ends_at = 0.0

    @property
    def event_types(self) -> frozenset[EventType]:
        """The event types enabled by the logger's current level."""
        return frozenset(kind for kind, level in LEVEL_OF.items() if log.isEnabledFor(level))

    def emit_all(self, events: Sequence[Event]) -> None:
        """Write the events enabled by the logger's level."""
        for event in events:
            level = LEVEL_OF.get(event.type)
            if level is None or not log.isEnabledFor(level):
                continue
            if event.type is not EventType.JOB_ATTEMPT_FAILED or self._may_warn():
                log.log(level, "%s", event.message, extra=_extra(event))

    def _may_warn(self) -> bool:
        now = monotonic()
        if now >= self._span_ends_at:
            self._failures, self._span_ends_at = 0, now + SPAN
        self._failures += 1
        if self._failures == MOST_FAILURES + 1:
            log.warning(MORE_FAIL)
        return self._failures <= MOST_FAILURES


def _extra(event: Event) -> dict[str, object]:
    task, worker = event.task, event.worker
    facts: dict[str, object] = {"event": event.type.value}
    if task is not None:
        facts |= fields_of(task)
    if worker is not None:
        facts["worker"] = worker.id
    facts |= {"seconds": event.seconds, **(event.data or {})}
    extra: dict[str, object] = {FACTS: {name: value for name, value in facts.items() if value is not None}}
    # In text output, it follows below the line if tracebacks are enabled.
    return extra if event.error is None else {**extra, "traceback": event.error}
