"""A slot takes tasks from the local queue and runs their handlers, one call at a time.

    occupy    the handler call is being prepared (a process starts, large fields are fetched)
    begin     the attempt starts: the handler is called next, in this process or in a child process

An attempt counts from `begin`, which is recorded in the database. For a process handler, and for a task that was lost
repeatedly, the start is recorded before the handler is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import monotonic
from traceback import FrameSummary
from typing import TypeVar

from rolecall.model.states import LostReason
from rolecall.telemetry.context import current
from rolecall.worker.blocked_loop import frames_of_task
from rolecall.worker.completer import Completer
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import HeldTask, run_isolated, uncancel_all
from rolecall.worker.local_queue import Demand, LocalQueue
from rolecall.worker.session import ForkGuard
from rolecall.worker.slot_thread import SlotThread
from rolecall.worker.task_logs import TaskLogs

T = TypeVar("T")


class Slot:
    """Runs one attempt at a time, each in its own asyncio task and context.

    The context is a copy of the one in which the worker started, so context variables, and everything bound to
    `asyncio.current_task()`, end with the attempt. An abort cancels the attempt's task, and the runner turns the
    cancellation into an outcome. Cancelling the slot also cancels the attempt.
    """

    def __init__(  # sizes: everything that a slot works with
        self,
        number: int,
        local_queue: LocalQueue,
        demand: Demand,
        *,
        completer: Completer,
        events: WorkerEvents,
        fork_guard: ForkGuard,
        logs: TaskLogs,
    ) -> None:
        self.logs = logs
        self._queue = local_queue
        self._thread = SlotThread(f"rolecall-slot-{number}", fork_guard)
        self._fork_guard = fork_guard
        self.running_tasks: Sequence[HeldTask] = ()
        self._demand = demand
        self._completer = completer
        self._events = events
        self._task: asyncio.Task[None] | None = None
        self._attempt: asyncio.Task[None] | None = None

    async def run(self) -> None:
        self._task = asyncio.current_task()
        queue = self._queue
        self._demand.change_idle_slots(-1)
        try:
            while not queue.is_closed:
                if queue.ready:
                    await run_isolated(self._work())
                else:
                    self._demand.change_idle_slots(1)
                    try:
                        await queue.wait_for_work()
                    finally:
                        self._demand.change_idle_slots(-1)
        finally:
            self._thread.stop()

    def occupy(self, held_tasks: Sequence[HeldTask]) -> None:
        for held in held_tasks:
            held.slot = self
        self.running_tasks = held_tasks
        current.set(held_tasks)
        if self._attempt is not None:
            self._attempt.set_name(held_tasks[0].task.handler)  # warnings about a blocked loop show it

    async def record_starts(self, held_tasks: Iterable[HeldTask]) -> None:
        await asyncio.gather(*(self._record_start(held) for held in held_tasks if not held.is_started))

    def begin(self, held_tasks: Sequence[HeldTask]) -> Sequence[HeldTask]:
        """Record that the handler is about to be called; return the tasks to call it with.

        Tasks that were aborted, have expired or have lost their lease are left out and marked as aborted.
        """
        began_at = monotonic()
        begun = []
        for held in held_tasks:
            if held.abort_reason is not None:
                continue
            if began_at >= held.start_before:
                held.abort_reason = LostReason.DATABASE
                continue
            held.began_at = began_at
            begun.append(held)
            if not held.is_started:
                self._completer.queue_start(held)
        if begun and self._events.needs_start_events:
            self._events.emit_starts(begun)
        return begun

    def interrupt(self) -> None:
        if (
            self.running_tasks
            and self.running_tasks[0].runner.interruptible
            and self._must_stop
            and self._attempt is not None
        ):
            self._attempt.cancel()

    def absorb(self) -> bool:
        if self._is_cancelled and not self._must_stop:
            return False
        uncancel_all(self._attempt)
        return True

    def take_like(self, held: HeldTask, most: int) -> list[HeldTask]:
        return self._queue.take_like(held, most)

    def call_in_thread(self, function: Callable[..., T], *arguments: object) -> Awaitable[T]:
        return self._thread.call(function, *arguments)

    def frames(self, loop: asyncio.AbstractEventLoop, loop_thread: int) -> list[FrameSummary]:
        """Return the calls of the handler in this process, outermost first. Can be called from any thread."""
        attempt = self._attempt
        awaited = [] if attempt is None else frames_of_task(attempt, loop, loop_thread)
        return awaited + self._thread.frames()

    async def _record_start(self, held: HeldTask) -> None:
        reason = await self._completer.record_start(held)
        if reason is not None and held.abort_reason is None:
            held.abort_reason = LostReason(reason)

    @property
    def _must_stop(self) -> bool:
        return all(held.abort_reason or held.has_ended for held in self.running_tasks)

    @property
    def _is_cancelled(self) -> bool:
        return self._task is not None and self._task.cancelling() > 0

    async def _work(self) -> None:
        # Taken here and not by the slot: the loop does not switch tasks between the queue and the handler, so a task is
        # either still in the queue or has started.
        held = self._queue.take()
        if held is None:
            return
        self._attempt = asyncio.current_task()
        try:
            await held.runner.run(held, self)
        finally:
            self._fork_guard.require()
        running, self.running_tasks, self._attempt = self.running_tasks, (), None
        for ended in running:
            if ended.permit is not None:
                self._queue.let_next(ended)
        self._demand.finished_count += len(running)
