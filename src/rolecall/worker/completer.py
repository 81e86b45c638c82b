"""Writes outcomes, starts and returned tasks to the database in batches, on one connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from time import monotonic

from rolecall.config import failpoints
from rolecall.model.errors import DatabaseError, DatabaseUnavailable, RolecallError
from rolecall.model.outcomes import Completed, Failed, Returned
from rolecall.model.sqlstates import is_fault
from rolecall.sql import claims
from rolecall.sql.events import EventCollector
from rolecall.transport.waker import Backoff, Waker
from rolecall.worker.afterwards import AfterCommitCalls
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import HeldTask, InFlight
from rolecall.worker.reporting import LogReporter
from rolecall.worker.session import DatabaseSession, LogThrottle

MOST_REPORTS = 1_000
START_AFTER = 0.01
AGAIN_AFTER = 1.0
GATHER_FROM = 32
GATHER_UP_TO = 500
GATHER_FOR = 0.01
LONGEST_PAUSE = 2.0
ACCEPTED_BEFORE = "already"
BUSY = "busy"
OPEN_TRANSACTION = "an open transaction has locked rows that they need"

log = logging.getLogger("rolecall.worker")


class Completer:
    """Flushes one batch at a time. Reports that arrive meanwhile are part of the next one.

    If the database rejects reports for their content, such as a follow-up for an unknown role, they are sent one by
    one and the rejected one becomes a failure with that reason. Reports that cannot be stored for another reason,
    such as a locked row or a read-only server (`rolecall.model.sqlstates`), are kept and sent again with a backoff.
    An interrupted flush is repeated until the database answers; fences make the repetition harmless.
    """

    def __init__(
        self,
        session: DatabaseSession,
        in_flight: InFlight,
        log_reporter: LogReporter,
        events: WorkerEvents,
        on_freed_work: Callable[[], None],
        afterwards: AfterCommitCalls,
    ) -> None:
        self._session = session
        self._in_flight = in_flight
        self._log_reporter = log_reporter
        self._events = events
        self._on_freed_work = on_freed_work
        self._afterwards = afterwards
        self._reports: list[HeldTask] = []
        self._unrecorded_starts: list[HeldTask] = []
        self._interrupted_tasks: list[HeldTask] = []
        self._kept_reports: list[HeldTask] = []
        self._send_again_at = 0.0  # 0 while no reports are kept
        self._kept_backoff = Backoff(0.1, LONGEST_PAUSE)
        self._portion = MOST_REPORTS  # how many kept reports are sent together
        self._is_failing = False  # the last attempt stored nothing
        self._log_throttle = LogThrottle()
        self._recording: dict[HeldTask, asyncio.Future[str | None]] = {}
        self._bell = Waker()
        self._is_resting = True
        self._is_closing = False
        self._is_busy = False

    def add(self, held: HeldTask) -> None:
        self._reports.append(held)
        if self._is_resting:
            self._is_resting = False
            self._bell.nudge()

    def store_own_completion(self, held: HeldTask) -> None:
        if failpoints.ARMED:
            failpoints.hit(failpoints.AFTER_FINISH)
        if held.report is None:
            held.report = Completed(id=held.task.id, fence=held.task.fence)
        self._process_answer([held], {}, held.collector)

    def drop_lost(self, held: HeldTask) -> None:
        self._in_flight.drop([held])
        self._events.emit_lost(held)

    def queue_start(self, held: HeldTask) -> None:
        """Queue the start of a task. It is recorded unless the task finishes at once."""
        self._unrecorded_starts.append(held)
        if self._is_resting:
            self._is_resting = False
            self._bell.nudge()

    async def record_start(self, held: HeldTask) -> str | None:
        """Wait until the start of a task is recorded. Return the reason if its claim is lost, otherwise None."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._recording[held] = answer
        self.queue_start(held)
        try:
            return await answer
        finally:
            del self._recording[held]

    def give_back(self, held_tasks: Iterable[HeldTask]) -> None:
        """Give back tasks that have not started, or that were interrupted by a stop."""
        for held in held_tasks:
            held.has_ended = held.is_given_back = True
            if held.began_at:
                self._interrupted_tasks.append(held)
            else:
                held.report = Returned(id=held.task.id, fence=held.task.fence)
                self._reports.append(held)
        self._bell.nudge()

    def close(self) -> None:
        self._is_closing = True
        self._bell.nudge()

    @property
    def unwritten_count(self) -> int:
        return len(self._reports) + len(self._interrupted_tasks) + len(self._kept_reports)

    async def run(self) -> None:
        """Flush until closed. Raises DatabaseUnavailable only if the session has given up."""
        while not (self._is_closing and not self.unwritten_count):
            await self._rest()
            await self._flush()

    async def _rest(self) -> None:
        if self._interrupted_tasks or (self._is_closing and not self._kept_reports):
            return
        if not self._reports:
            pause = max(0.0, self._send_again_at - monotonic()) if self._kept_reports else None
            if self._unrecorded_starts:
                pause = START_AFTER if all(held.began_at for held in self._unrecorded_starts) else 0.0
            self._is_resting = True
            self._bell.forget()
            await self._bell.wait(pause)
            self._is_resting = False
        elif self._is_busy and len(self._reports) < GATHER_UP_TO:
            # Under load, waiting a few milliseconds makes batches larger and outcomes several times cheaper.
            await asyncio.sleep(GATHER_FOR)

    async def _flush(self) -> None:
        batch = self._reports[:MOST_REPORTS]
        del self._reports[: len(batch)]
        if self._is_failing:
            self._kept_reports += batch
            batch = []
        due = monotonic() - START_AFTER
        running = [
            held for held in self._unrecorded_starts if not (held.is_started or held.has_ended or held.is_finishing)
        ]
        begun = [held for held in running if held.began_at <= due]
        self._unrecorded_starts = [held for held in running if held.began_at > due]
        for worker_id, group in by_worker(batch):
            await self._finish(worker_id, group)
        if self._kept_reports and monotonic() >= self._send_again_at:
            await self._send_kept()
        for worker_id, group in by_worker(begun):
            await self._start(worker_id, group)
        interrupted, self._interrupted_tasks = self._interrupted_tasks, []
        for worker_id, group in by_worker(interrupted):
            await self._release(worker_id, group)
        self._is_busy = len(self._reports) >= GATHER_FROM

    def _without_followers(self, batch: Sequence[HeldTask]) -> Sequence[HeldTask]:
        kept = {held.permit for held in self._kept_reports if held.permit is not None}
        behind = [held for held in batch if held.permit in kept and type(held.report) is not Returned]
        self._kept_reports += behind
        return [held for held in batch if held not in behind] if behind else batch

    async def _send_kept(self) -> None:
        """Send kept reports in portions as large as the server can store, until it fails to store some."""
        before, pending, self._kept_reports = len(self._kept_reports), self._kept_reports, []
        try:
            while pending:
                worker_id, group = next(by_worker(pending[: self._portion]))
                del pending[: len(group)]
                if not await self._finish(worker_id, group):
                    break
                self._portion = min(MOST_REPORTS, 2 * self._portion)
                group = []
        finally:
            self._kept_reports += pending
        if group:
            self._send_apart(group)
        if len(self._kept_reports) < before:
            self._is_failing = False
            self._kept_backoff.reset()
        self._send_again_at = monotonic() + self._kept_backoff.next() if self._kept_reports else 0.0
        if not self._kept_reports:
            self._log_throttle = LogThrottle()

    def _send_apart(self, failed: Sequence[HeldTask]) -> None:
        """Send fewer together next time. A single report, with its sequence, is moved behind the others."""
        self._portion = max(1, len(failed) // 2)
        if len(failed) == 1:
            place = failed[0].permit
            self._kept_reports.sort(key=lambda held: held is failed[0] or (place is not None and held.permit == place))

    async def _finish(self, worker_id: int, group: Sequence[HeldTask]) -> bool:
        """Store outcomes, but keep those of tasks whose predecessor in a sequence is kept."""
        if self._kept_reports:
            group = self._without_followers(group)
            if not group:
                return True
        try:
            verdicts, collector = await self._send(worker_id, group)
        except RolecallError as error:
            if self._has_given_up(error):
                self._reports[:0] = group
                raise
            if not _is_fault(error):
                self._keep(group, error)
                self._is_failing = True
                return False
            await self._isolate(worker_id, group, error)
        else:
            self._is_failing = False
            self._process_answer(group, verdicts, collector)
        return True

    def _has_given_up(self, error: RolecallError) -> bool:
        return isinstance(error, DatabaseUnavailable) and self._session.has_given_up

    async def _send(self, worker_id: int, group: Sequence[HeldTask]) -> tuple[dict[int, str], EventCollector | None]:
        if failpoints.ARMED:
            failpoints.hit(failpoints.BEFORE_FINISH)
        reports = [held.report for held in group if held.report]
        collector = self._events.collector(group) if self._events.needs_end_events else None
        statement = claims.finish_free(worker_id, reports, apart=self._send_again_at > 0)
        verdicts = await self._session.run(statement, collector, is_divisible=True)
        if failpoints.ARMED:
            failpoints.hit(failpoints.AFTER_FINISH)
        return verdicts, collector

    async def _isolate(self, worker_id: int, group: Sequence[HeldTask], error: RolecallError) -> None:
        if len(group) == 1:
            await self._store_refusal(worker_id, group[0], error)
            return
        for held in group:
            await self._finish(worker_id, [held])

    async def _store_refusal(self, worker_id: int, held: HeldTask, error: RolecallError) -> None:
        task, outcome = held.task, held.report
        log.warning("The outcome of task %d (%s) was refused: %s", task.id, task.handler, error)
        if type(outcome) is Returned:
            self._give_up(held)
            return
        held.report = Failed(id=task.id, fence=task.fence, error=f"the outcome was refused: {error}")
        try:
            self._process_answer([held], *await self._send(worker_id, [held]))
        except RolecallError as again:
            # The failure has no content that could be rejected, so the outcome is not the reason.
            held.report = outcome
            if self._has_given_up(again):
                self._reports.insert(0, held)
                raise
            self._keep([held], again)

    def _give_up(self, held: HeldTask) -> None:
        self._in_flight.drop([held])
        self._events.emit_refused(held)

    def _process_answer(
        self, group: Sequence[HeldTask], verdicts: dict[int, str], collector: EventCollector | None
    ) -> None:
        if BUSY in verdicts.values():
            self._keep([held for held in group if verdicts.get(held.task.id) == BUSY], OPEN_TRANSACTION)
            group = [held for held in group if verdicts.get(held.task.id) != BUSY]
            verdicts = {task_id: verdict for task_id, verdict in verdicts.items() if verdict != BUSY}
        if verdicts:
            verdicts = _without_unseen(group, verdicts)
        self._in_flight.drop(group)
        for task_id, verdict in verdicts.items():
            if verdict == ACCEPTED_BEFORE:
                log.info("The outcome of task %d had been stored before its answer was lost", task_id)
            else:
                log.info("The outcome of task %d was dropped: %s", task_id, verdict)
        stored = [held for held in group if held.task.id not in verdicts] if verdicts else group
        self._log_reporter.counts.update(type(held.report).__name__.lower() for held in stored)
        for held in stored:
            if type(held.report) is Completed and held.report.unstored is not None:
                self._log_reporter.log_unstored(held, held.report.unstored)
        if self._afterwards.has_calls:
            self._afterwards.make_calls(group, verdicts)
        plain = not verdicts and all(type(held.report) is Completed for held in group)
        if collector is not None or self._events.needs_completion_events or not plain:
            self._events.emit_ends(group, verdicts, collector)
        # A worker that returned a task could not start it in time, so it should not claim it again at once.
        reports = ((held.task.key, held.report) for held in group if type(held.report) is not Returned)
        if any(key is not None or type(end) is not Completed or end.next_tasks is not None for key, end in reports):
            self._on_freed_work()

    def _keep(self, group: Sequence[HeldTask], why: object) -> None:
        self._kept_reports += group
        if not self._send_again_at:
            self._send_again_at = monotonic() + self._kept_backoff.next()
        if self._log_throttle.due(monotonic()):
            message = "%d outcomes cannot be stored yet (task %d), trying again: %s"
            log.warning(message, len(group), group[0].task.id, why)

    async def _start(self, worker_id: int, group: Sequence[HeldTask]) -> None:
        try:
            answers = await self._session.run(claims.start(worker_id, map(_claim, group)))
        except RolecallError as error:
            if self._has_given_up(error):
                raise
            if self._log_throttle.due(monotonic()):
                log.warning("%d tasks could not be marked as started, trying again: %s", len(group), error)
            answers = {held.task.id: BUSY for held in group}
        if busy := [held for held in group if answers.get(held.task.id) == BUSY]:
            asyncio.get_running_loop().call_later(AGAIN_AFTER, self._requeue_starts, busy)
        for held in group:
            reason = answers.get(held.task.id)
            if reason is None:
                held.record_started()
            answer = self._recording.get(held)
            if reason != BUSY and answer is not None and not answer.done():
                answer.set_result(reason)

    def _requeue_starts(self, held_tasks: Sequence[HeldTask]) -> None:
        self._unrecorded_starts.extend(held_tasks)
        self._bell.nudge()

    async def _release(self, worker_id: int, group: Sequence[HeldTask]) -> None:
        try:
            answers = await self._session.run(claims.release(worker_id, map(_claim, group)))
        except RolecallError as error:
            if self._has_given_up(error):
                self._interrupted_tasks[:0] = group
                raise
            log.warning("%d tasks could not be returned yet: %s", len(group), error)
            answers = {held.task.id: BUSY for held in group}
        # A worker that closes tries again when it deregisters.
        busy = [] if self._is_closing else [held for held in group if answers.get(held.task.id) == BUSY]
        if busy:
            asyncio.get_running_loop().call_later(AGAIN_AFTER, self.give_back, busy)
        done = [held for held in group if held not in busy]
        self._in_flight.drop(done)
        self._log_reporter.counts["released"] += len(done)
        self._events.emit_released(done)


def by_worker(held_tasks: Iterable[HeldTask]) -> Iterator[tuple[int, list[HeldTask]]]:
    """Group tasks by the worker id of their claim. A worker that had to register again has several."""
    for worker_id, group in groupby(held_tasks, attrgetter("worker_id")):
        yield worker_id, list(group)


def _without_unseen(group: Sequence[HeldTask], verdicts: dict[int, str]) -> dict[int, str]:
    """Accept completions by foreign transactions of handlers, whose commit is noticed only now."""
    seen = [held for held in group if held.unseen_completion and verdicts.get(held.task.id) == ACCEPTED_BEFORE]
    for held in seen:
        held.report = held.unseen_completion
    ids = {held.task.id for held in seen}
    return {task_id: verdict for task_id, verdict in verdicts.items() if task_id not in ids}


def _is_fault(error: RolecallError) -> bool:
    """Whether the error is about the report, which is then rejected. For any other error the report is kept."""
    return not isinstance(error, DatabaseError) or is_fault(error.sqlstate)


def _claim(held: HeldTask) -> tuple[int, int]:
    return held.task.id, held.task.fence
