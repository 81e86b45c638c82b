"""Writes what became of claimed tasks, in batches: outcomes, late starts, and tasks given back, on one connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from rolecall.config import failpoints
from rolecall.model.errors import DatabaseError, DatabaseUnavailable, RolecallError
from rolecall.model.outcomes import Completed, Failed, Returned
from rolecall.model.sqlstates import is_fault
from rolecall.sql import claims
from rolecall.sql.events import EventCollector
from rolecall.wake.waker import Backoff, Waker
from rolecall.worker.afterwards import Afterwards
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import HeldTask, InFlight, by_worker
from rolecall.worker.reporting import LogReporter
from rolecall.worker.session import Complaints, DatabaseSession

MOST_REPORTS = 1_000
START_AFTER = 0.01
AGAIN_AFTER = 1.0
GATHER_FROM = 32
GATHER_UP_TO = 500
GATHER_FOR = 0.01
LONGEST_PAUSE = 2.0
ACCEPTED_BEFORE = "already"
BUSY = "busy"
OPEN_TRANSACTION = "an open transaction holds what they need"

log = logging.getLogger("rolecall.worker")


class Completer:
    """One flush at a time: what is reported while it is under way goes with the next one.

    That alone makes single outcomes quick and bursts cheap. When the database rejects reports for their content (a
    follow-up for an unknown role, say), they are sent one by one, and the rejected one becomes a failure with the
    reason. Reports that cannot be stored for any other reason are kept and sent again, with a backoff, until the
    database gives a verdict on them: an open transaction holds their rows, or the server cannot store them now
    (`rolecall.model.sqlstates`). A flush that was interrupted is repeated until answered: the fence makes the
    repetition harmless.
    """

    def __init__(
        self,
        session: DatabaseSession,
        in_flight: InFlight,
        log_reporter: LogReporter,
        events: WorkerEvents,
        on_freed_work: Callable[[], None],
        afterwards: Afterwards,
    ) -> None:
        self._session = session
        self._in_flight = in_flight
        self._log_reporter = log_reporter
        self._events = events
        self._on_freed_work = on_freed_work
        self._afterwards = afterwards
        self._reports: list[HeldTask] = []
        self._begun: list[HeldTask] = []
        self._interrupted: list[HeldTask] = []
        self._kept: list[HeldTask] = []
        self._send_again_at = 0.0  # while something is kept
        self._kept_backoff = Backoff(0.1, LONGEST_PAUSE)
        self._portion = MOST_REPORTS  # how many kept reports are sent together
        self._is_failing = False  # nothing could be stored at the last attempt
        self._complaints = Complaints()
        self._recording: dict[HeldTask, asyncio.Future[str | None]] = {}
        self._bell = Waker()
        self._resting = True
        self._closing = False
        self._busy = False

    def add(self, held: HeldTask) -> None:
        """Take an ended task whose `report` stands."""
        self._reports.append(held)
        if self._resting:
            self._bell.nudge()

    def finished_by_handler(self, held: HeldTask) -> None:
        """Take a task whose end its handler's own transaction stored: nothing is left to write."""
        if failpoints.ARMED:
            failpoints.hit(failpoints.AFTER_FINISH)
        if held.report is None:
            held.report = Completed(id=held.task.id, fence=held.task.fence)
        self._answered([held], {}, held.collector)

    def lost(self, held: HeldTask) -> None:
        """Take a task of which nothing is to be written any more."""
        self._in_flight.drop([held])
        self._events.lost(held)

    def began(self, held: HeldTask) -> None:
        """Take a prefetched task that has begun: the database hears of it unless it ends at once."""
        self._begun.append(held)
        if self._resting:
            self._bell.nudge()

    async def record_start(self, held: HeldTask) -> str | None:
        """Return when the database has recorded that a task begins; the reason if the claim is lost instead."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._recording[held] = answer
        self.began(held)
        try:
            return await answer
        finally:
            del self._recording[held]

    def give_back(self, held_tasks: Iterable[HeldTask]) -> None:
        """Take tasks that are to be claimable again: those that have not begun, and those that a stop interrupts."""
        for held in held_tasks:
            held.ended = held.given_back = True
            if held.began_at:
                self._interrupted.append(held)
            else:
                held.report = Returned(id=held.task.id, fence=held.task.fence)
                self._reports.append(held)
        self._bell.nudge()

    def close(self) -> None:
        """End `run()` once everything taken so far is written."""
        self._closing = True
        self._bell.nudge()

    @property
    def unwritten(self) -> int:
        """How many outcomes and interrupted tasks are not written yet."""
        return len(self._reports) + len(self._interrupted) + len(self._kept)

    async def run(self) -> None:
        """Flush until closed; raise DatabaseUnavailable only after the session was told to give up."""
        while not (self._closing and not self.unwritten):
            await self._rest()
            await self._flush()

    async def _rest(self) -> None:
        if self._interrupted or (self._closing and not self._kept):
            return
        if not self._reports:
            await self._nap(self._until_next())
        elif self._busy and len(self._reports) < GATHER_UP_TO:
            # Under load a few milliseconds more make the batch, and so the price of an outcome, several times better.
            await asyncio.sleep(GATHER_FOR)

    def _until_next(self) -> float | None:
        if self._begun:
            return START_AFTER if all(held.began_at for held in self._begun) else 0.0
        return max(0.0, self._send_again_at - monotonic()) if self._kept else None

    async def _nap(self, seconds: float | None) -> None:
        self._resting = True
        self._bell.forget()
        await self._bell.wait(seconds)
        self._resting = False

    async def _flush(self) -> None:
        batch = self._reports[:MOST_REPORTS]
        del self._reports[: len(batch)]
        if self._is_failing:
            self._kept += batch
            batch = []
        begun = self._take_begun(monotonic() - START_AFTER)
        for worker_id, group in by_worker(batch):
            await self._finish_in_order(worker_id, group)
        if self._kept and monotonic() >= self._send_again_at:
            await self._send_kept()
        for worker_id, group in by_worker(begun):
            await self._start(worker_id, group)
        interrupted, self._interrupted = self._interrupted, []
        for worker_id, group in by_worker(interrupted):
            await self._release(worker_id, group)
        self._busy = len(self._reports) >= GATHER_FROM

    async def _finish_in_order(self, worker_id: int, group: Sequence[HeldTask]) -> bool:
        """Store outcomes, but keep those of tasks that ran in the place of their key after one that is kept."""
        free = self._without_followers(group) if self._kept else group
        return not free or await self._finish(worker_id, free)

    def _without_followers(self, batch: Sequence[HeldTask]) -> Sequence[HeldTask]:
        kept = {held.place for held in self._kept if held.place is not None}
        behind = [held for held in batch if held.place in kept and type(held.report) is not Returned]
        self._kept += behind
        return [held for held in batch if held not in behind] if behind else batch

    def _take_begun(self, before: float) -> list[HeldTask]:
        running = [held for held in self._begun if not (held.started or held.ended or held.finishing)]
        self._begun = [held for held in running if held.began_at > before]
        return [held for held in running if held.began_at <= before]

    async def _send_kept(self) -> None:
        """Send kept reports, as many together as can be stored, until the server fails to store some."""
        before, pending, self._kept = len(self._kept), self._kept, []
        try:
            while pending:
                worker_id, group = next(by_worker(pending[: self._portion]))
                del pending[: len(group)]
                if not await self._finish_in_order(worker_id, group):
                    break
                self._portion = min(MOST_REPORTS, 2 * self._portion)
                group = []
        finally:
            self._kept += pending
        if group:
            self._send_apart(group)
        if len(self._kept) < before:
            self._is_failing = False
            self._kept_backoff.reset()
        self._send_again_at = monotonic() + self._kept_backoff.next() if self._kept else 0.0
        if not self._kept:
            self._complaints = Complaints()

    def _send_apart(self, failed: Sequence[HeldTask]) -> None:
        """Send fewer together next time; a single report gives way to the others, with those behind it in its place."""
        self._portion = max(1, len(failed) // 2)
        if len(failed) == 1:
            place = failed[0].place
            self._kept.sort(key=lambda held: held is failed[0] or (place is not None and held.place == place))

    async def _finish(self, worker_id: int, group: Sequence[HeldTask]) -> bool:
        """Store outcomes; return False if the server could not, in which case they are kept."""
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
            self._answered(group, verdicts, collector)
        return True

    def _has_given_up(self, error: RolecallError) -> bool:
        return isinstance(error, DatabaseUnavailable) and self._session.has_given_up

    async def _send(self, worker_id: int, group: Sequence[HeldTask]) -> tuple[dict[int, str], EventCollector | None]:
        if failpoints.ARMED:
            failpoints.hit(failpoints.BEFORE_FINISH)
        reports = [held.report for held in group if held.report]
        collector = self._events.collector(group) if self._events.asks_for_ends else None
        statement = claims.finish_free(worker_id, reports, apart=self._send_again_at > 0)
        verdicts = await self._session.run(statement, collector, is_divisible=True)
        if failpoints.ARMED:
            failpoints.hit(failpoints.AFTER_FINISH)
        return verdicts, collector

    async def _isolate(self, worker_id: int, group: Sequence[HeldTask], error: RolecallError) -> None:
        if len(group) == 1:
            await self._refused(worker_id, group[0], error)
            return
        for held in group:
            await self._finish_in_order(worker_id, [held])

    async def _refused(self, worker_id: int, held: HeldTask, error: RolecallError) -> None:
        task, outcome = held.task, held.report
        log.warning("The outcome of task %d (%s) was refused: %s", task.id, task.handler, error)
        if type(outcome) is Returned:
            self._give_up(held)
            return
        held.report = Failed(id=task.id, fence=task.fence, error=f"the outcome was refused: {error}")
        try:
            self._answered([held], *await self._send(worker_id, [held]))
        except RolecallError as again:
            # A failure without any content is refused as well, so the outcome is not the reason.
            held.report = outcome
            if self._has_given_up(again):
                self._reports.insert(0, held)
                raise
            self._keep([held], again)

    def _give_up(self, held: HeldTask) -> None:
        self._in_flight.drop([held])
        self._events.refused(held)

    def _answered(self, group: Sequence[HeldTask], verdicts: dict[int, str], collector: EventCollector | None) -> None:
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
        self._log_reporter.finished(group, verdicts)
        if self._afterwards.wanted:
            self._afterwards.stored(group, verdicts)
        plain = not verdicts and all(type(held.report) is Completed for held in group)
        if collector is not None or self._events.tells_completions or not plain:
            self._events.ended(group, verdicts, collector)
        if any(_may_free_work(held) for held in group):
            self._on_freed_work()

    def _keep(self, group: Sequence[HeldTask], why: object) -> None:
        self._kept += group
        if not self._send_again_at:
            self._send_again_at = monotonic() + self._kept_backoff.next()
        if self._complaints.due(monotonic()):
            message = "%d outcomes cannot be stored yet (task %d), trying again: %s"
            log.warning(message, len(group), group[0].task.id, why)

    async def _start(self, worker_id: int, group: Sequence[HeldTask]) -> None:
        try:
            answers = await self._session.run(claims.start(worker_id, map(_claim, group)))
        except RolecallError as error:
            if self._has_given_up(error):
                raise
            if self._complaints.due(monotonic()):
                log.warning("%d tasks could not be marked as started, trying again: %s", len(group), error)
            answers = {held.task.id: BUSY for held in group}
        if busy := [held for held in group if answers.get(held.task.id) == BUSY]:
            asyncio.get_running_loop().call_later(AGAIN_AFTER, self._begin_again, busy)
        for held in group:
            reason = answers.get(held.task.id)
            if reason is None:
                held.has_started()
            answer = self._recording.get(held)
            if reason != BUSY and answer is not None and not answer.done():
                answer.set_result(reason)

    def _begin_again(self, held_tasks: Sequence[HeldTask]) -> None:
        self._begun.extend(held_tasks)
        self._bell.nudge()

    async def _release(self, worker_id: int, group: Sequence[HeldTask]) -> None:
        try:
            answers = await self._session.run(claims.release(worker_id, map(_claim, group)))
        except RolecallError as error:
            if self._has_given_up(error):
                self._interrupted[:0] = group
                raise
            log.warning("%d tasks could not be given back yet: %s", len(group), error)
            answers = {held.task.id: BUSY for held in group}
        # A worker that closes tries it once more when it leaves the roll.
        busy = [] if self._closing else [held for held in group if answers.get(held.task.id) == BUSY]
        if busy:
            asyncio.get_running_loop().call_later(AGAIN_AFTER, self.give_back, busy)
        done = [held for held in group if held not in busy]
        self._in_flight.drop(done)
        self._log_reporter.released(done)
        self._events.released(done)


def _without_unseen(group: Sequence[HeldTask], verdicts: dict[int, str]) -> dict[int, str]:
    """Take for accepted what a transaction of the handler's own has completed: that it committed is seen only now."""
    seen = [held for held in group if held.unseen_completion and verdicts.get(held.task.id) == ACCEPTED_BEFORE]
    for held in seen:
        held.report = held.unseen_completion
    ids = {held.task.id for held in seen}
    return {task_id: verdict for task_id, verdict in verdicts.items() if task_id not in ids}


def _is_fault(error: RolecallError) -> bool:
    """Whether a report may be rejected for this error; every other error is the server's, and the report is kept."""
    return not isinstance(error, DatabaseError) or is_fault(error.sqlstate)


def _claim(held: HeldTask) -> tuple[int, int]:
    return held.task.id, held.task.fence


def _may_free_work(held: HeldTask) -> bool:
    report = held.report
    # What was given back is for others: whoever could not begin it in time should not claim it again at once.
    if type(report) is Returned:
        return False
    return held.task.key is not None or type(report) is not Completed or report.next_tasks is not None
