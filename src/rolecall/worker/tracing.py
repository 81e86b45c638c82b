"""Tracing: run each attempt inside a span and look up the traces of claimed tasks."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from rolecall.model.errors import DatabaseUnavailable, RolecallError
from rolecall.model.outcomes import Cancelled, Failed, Report
from rolecall.sql import structure
from rolecall.telemetry.tracing import Tracing
from rolecall.worker.in_flight import HeldTask, Runner, RunnerSlot
from rolecall.worker.session import DatabaseSession

log = logging.getLogger("rolecall.worker")


def trace_runner(runner: Runner, tracing: Tracing | None) -> Runner:
    return runner if tracing is None else TracedRunner(runner, tracing)


class TracedRunner:
    """Runs another runner inside the span of the attempt or batch."""

    def __init__(self, runner: Runner, tracing: Tracing) -> None:
        self._runner = runner
        self._tracing = tracing
        self.interruptible = runner.interruptible
        self.max_tasks = runner.max_tasks

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        with self._tracing.attempt(held, held.traces) as attempt:
            try:
                await self._runner.run(held, slot)
            finally:
                if attempt.records:
                    for each in slot.running_tasks:
                        attempt.note_end(each.traces, outcome=_outcome(each), error=_error(each))


class TraceLookup:
    """Looks up the traces of claimed tasks. If the database does not answer, their attempts start new traces."""

    def __init__(self, session: DatabaseSession) -> None:
        self._session = session

    async def note(self, held_tasks: Sequence[HeldTask]) -> None:
        try:
            traces = await self._session.run(structure.traces_of([held.task.id for held in held_tasks]))
        except DatabaseUnavailable:
            return
        except RolecallError as error:
            log.warning("The traces of %d tasks could not be read: %s", len(held_tasks), error)
            return
        for held in held_tasks:
            held.traces = traces.get(held.task.id, ())


def _outcome(held: HeldTask) -> str:
    if held.abort_reason is not None:
        return f"aborted: {held.abort_reason}"
    return "completed" if held.is_committed else _word(held.report)


def _word(report: Report | None) -> str:
    return "unknown" if report is None else type(report).__name__.lower()


def _error(held: HeldTask) -> str | None:
    if held.abort_reason is not None:
        return f"aborted: {held.abort_reason}"
    return held.report.error if isinstance(held.report, Failed | Cancelled) else None
