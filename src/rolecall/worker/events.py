"""Emits the events of a worker and its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from time import time

from rolecall.model.error_text import summarize
from rolecall.model.outcomes import Blocked, Cancelled, Completed, Failed, Misfit, Report, Returned, Snoozed
from rolecall.model.states import LostReason
from rolecall.sql.events import ENDS, EventCollector
from rolecall.telemetry import Emits, Event, EventType, WorkerFacts
from rolecall.telemetry.events import CHAIN_ENDS
from rolecall.telemetry.groups import COMPLETIONS, STARTED, Completion, Completions, Emission, Starts
from rolecall.worker.in_flight import HeldTask

GATHER_FOR = 0.01
RENEWED = EventType.JOB_ATTEMPT_LEASE_RENEWED
ACCEPTED_BEFORE = "already"
# The events of attempts whose report was accepted.
ATTEMPT_ENDS: Mapping[type[Report], EventType] = {
    Completed: EventType.JOB_ATTEMPT_COMPLETED,
    Failed: EventType.JOB_ATTEMPT_FAILED,
    Snoozed: EventType.JOB_ATTEMPT_SNOOZED,
    Blocked: EventType.JOB_ATTEMPT_SNOOZED,
    Cancelled: EventType.JOB_ATTEMPT_RETURNED,
    Returned: EventType.JOB_ATTEMPT_RETURNED,
    Misfit: EventType.JOB_ATTEMPT_RETURNED,
}
# The events of attempts whose claim was lost; for other reasons the attempt counts as returned.
LOST_ENDS: Mapping[str, EventType] = {
    LostReason.TAKEN: EventType.JOB_ATTEMPT_TAKEN_BY_ANOTHER_WORKER,
    LostReason.COMPLETED: EventType.JOB_ATTEMPT_ALREADY_COMPLETED,
}
# If the engine reports one of these, the task has not simply completed.
SETTLED = frozenset({*CHAIN_ENDS, EventType.JOB_WAITING})


class WorkerEvents:
    """Collects the events of the worker's loop and emits them every 10 ms. The heartbeat thread emits at once.

    The completion of a task and its chain is derived from the task's report. The engine reports only what cannot be
    derived.
    """

    def __init__(self, emitter: Emits, name: str) -> None:
        self._emitter = emitter
        self._name = name
        self._worker = WorkerFacts(0, name)
        self._pending: list[Emission] = []
        self._flush_timer: asyncio.TimerHandle | None = None
        self.needs_start_events = STARTED in emitter.event_types
        self.needs_end_events = not emitter.event_types.isdisjoint(ENDS)
        self.needs_completion_events = not emitter.event_types.isdisjoint(COMPLETIONS)

    def emit_worker_event(self, kind: EventType, worker_id: int, **data: object) -> None:
        self._collect([Event(type=kind, at=time(), worker=self._facts_of(worker_id), data=data or None)])

    def emit_error(self, kind: EventType, error: BaseException) -> None:
        """Emit an error that does not belong to a task. Can be called from any thread."""
        if kind in self._emitter.event_types:
            self._emitter.emit([Event(type=kind, at=time(), error=summarize(error))])

    def emit_starts(self, held_tasks: Sequence[HeldTask]) -> None:
        """Emit the start of handlers. Call it only if `needs_start_events`."""
        at = time()
        for held in held_tasks:
            group, worker = self._pending[-1] if self._pending else None, self._facts_of(held.worker_id)
            if not isinstance(group, Starts) or group.worker is not worker:
                group = Starts(worker)
                self._collect([group])
            group.tasks.append(held.task)
            group.moments.append(at)

    def collector(self, held_tasks: Iterable[HeldTask]) -> EventCollector:
        """Return a collector for the events that follow from these reports. Call it only if `needs_end_events`."""
        return EventCollector(
            [held.task.id for held in held_tasks if held.task.chain_index and _may_end_chain(held.report)]
        )

    def emit_ends(
        self, held_tasks: Sequence[HeldTask], verdicts: Mapping[int, str], collector: EventCollector | None
    ) -> None:
        """Emit the ends of attempts whose reports were answered; those with a verdict were not stored."""
        collected = [] if collector is None else collector.events
        settled = {each.task.id for each in collected if isinstance(each, Event) and each.task and each.type in SETTLED}
        at = time()
        events: list[Emission] = []
        group: Completions | None = None
        for held in held_tasks:
            report = held.report
            if held.slot is None or report is None:
                continue
            if type(report) is not Completed or verdicts.get(held.task.id, ACCEPTED_BEFORE) != ACCEPTED_BEFORE:
                group = None
                events.append(self._end(held, report, verdicts.get(held.task.id), at))
            elif self.needs_completion_events:
                if group is None:
                    group = Completions(self._facts_of(held.worker_id), at)
                    events.append(group)
                group.each.append(_completion(held, report, at, settled=held.task.id in settled))
        self._collect([*events, *collected])

    def emit_released(self, held_tasks: Iterable[HeldTask]) -> None:
        self._collect_ends(EventType.JOB_ATTEMPT_RETURNED, held_tasks, "released")

    def emit_lost(self, held: HeldTask) -> None:
        reason = str(held.abort_reason)
        self._collect_ends(LOST_ENDS.get(reason, EventType.JOB_ATTEMPT_RETURNED), [held], reason)

    def emit_refused(self, held: HeldTask) -> None:
        self._collect_ends(EventType.JOB_ATTEMPT_RETURNED, [held], "refused")

    def emit_renewals(self, held_tasks: Iterable[HeldTask], expired: Iterable[HeldTask]) -> None:
        """Emit renewals and expired leases, in the heartbeat thread."""
        kinds = ((EventType.JOB_ATTEMPT_LEASE_EXPIRED, expired), (RENEWED, held_tasks))
        at = time()
        events = [
            Event(type=kind, at=at, task=held.task, worker=self._facts_of(held.worker_id))
            for kind, group in kinds
            if kind in self._emitter.event_types
            for held in group
        ]
        if events:
            self._emitter.emit(events)

    def emit_invalid(self, held: HeldTask, error: str) -> None:
        """Emit a payload, result or next task that does not match the handler's declaration."""
        if EventType.JOB_TYPE_VALIDATION_ERROR in self._emitter.event_types:
            self._collect([self._event(EventType.JOB_TYPE_VALIDATION_ERROR, held, time(), None, error)])

    def flush(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        gathered, self._pending = self._pending, []
        if gathered:
            self._emitter.emit(gathered)

    def _collect(self, events: Iterable[Emission]) -> None:
        self._pending.extend(events)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._flush_timer is None and self._pending:
            self._flush_timer = asyncio.get_running_loop().call_later(GATHER_FOR, self.flush)

    def _collect_ends(self, kind: EventType, held_tasks: Iterable[HeldTask], outcome: str) -> None:
        if kind in self._emitter.event_types:
            at = time()
            self._collect(
                self._event(kind, held, at, held.run_seconds, None, outcome=outcome) for held in held_tasks if held.slot
            )

    def _end(self, held: HeldTask, report: Report, verdict: str | None, at: float) -> Event:
        ran = getattr(report, "ran", None)
        seconds = held.run_seconds if ran is None else ran
        if verdict not in {None, ACCEPTED_BEFORE}:
            kind = LOST_ENDS.get(verdict, EventType.JOB_ATTEMPT_RETURNED)
            return self._event(kind, held, at, seconds, None, outcome=verdict)
        error, outcome = getattr(report, "error", None), type(report).__name__.lower()
        return self._event(ATTEMPT_ENDS[type(report)], held, at, seconds, error, outcome=outcome)

    def _event(
        self, kind: EventType, held: HeldTask, at: float, seconds: float | None, error: str | None, **data: object
    ) -> Event:
        worker = self._facts_of(held.worker_id)
        return Event(type=kind, at=at, task=held.task, worker=worker, seconds=seconds, error=error, data=data or None)

    def _facts_of(self, worker_id: int) -> WorkerFacts:
        if self._worker.id != worker_id:
            self._worker = WorkerFacts(worker_id, self._name)
        return self._worker


def _completion(held: HeldTask, report: Completed, at: float, *, settled: bool) -> Completion:
    """Return what a completed attempt has finished: 1 the attempt, 2 also the task, 3 also its chain."""
    task = held.task
    if settled or (report.next_tasks is not None and report.next_tasks.children):
        ended = 1
    else:
        ended = 2 if task.chain_index or not _may_end_chain(report) else 3
    lived = at - task.created_at.timestamp()
    return task, held.run_seconds if report.ran is None else report.ran, max(0.0, lived), ended


def _may_end_chain(report: Report | None) -> bool:
    """Whether a report completes its task without continuing the chain. A procedure has no report."""
    if report is None:
        return True
    if type(report) is not Completed:
        return False
    return report.next_tasks is None or not (report.next_tasks.children or report.next_tasks.continuation)
