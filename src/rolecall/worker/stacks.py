"""Answers requests for the current stack of a running handler (`rolecall.request_stack`).

    async handler        the calls that its coroutine awaits; if it blocks the loop, those of the loop's thread
    sync handler         the calls of its slot's thread
    process handler      the calls of its child process, which a thread there reports

The heartbeat thread answers, because the loop may be blocked. A notification announces a request. While the loop is
blocked, no notification arrives, so this looks for requests every second.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from rolecall.model.stack_text import describe_stack, frames_at
from rolecall.sql import logs
from rolecall.worker.blocked_loop import BLOCKED_AFTER
from rolecall.worker.in_flight import HeldTask, InFlight
from rolecall.worker.session import DatabaseSession
from rolecall.worker.slot import Slot
from rolecall.worker.subprocess.pool import Processes

NOT_STARTED = "The handler has not been called yet: the worker prepares the call, or the task waits for a slot."
HAS_ENDED = "The handler has returned or raised, and the worker stores the outcome."
SILENT_PROCESS = "The handler's process does not answer, because code that is not Python keeps it busy."
NO_FRAMES = "No Python function of this task runs now. A SQL handler runs in the database."


class StackReporter:
    """Stores the stacks that somebody requested. Must be created in the worker's loop and used in the heartbeat thread.

    `lag` returns the seconds since the loop last answered.
    """

    def __init__(
        self, in_flight: InFlight, processes: Processes, session: DatabaseSession, lag: Callable[[], float]
    ) -> None:
        self._in_flight = in_flight
        self._processes = processes
        self._session = session
        self._lag = lag
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._may_be_asked = False

    def expect_requests(self) -> None:
        """Look for requests at the next check. Can be called from any thread."""
        self._may_be_asked = True

    async def check(self) -> None:
        if not self._may_be_asked and self._lag() < BLOCKED_AFTER:
            return
        self._may_be_asked = False
        try:
            await self._answer()
        except BaseException:
            self._may_be_asked = True  # the next check tries again
            raise

    async def _answer(self) -> None:
        held_tasks = {held.task.id: held for held in self._in_flight.all()}
        if not held_tasks:
            return
        fences = {task_id: held.task.fence for task_id, held in held_tasks.items()}
        for task_id in await self._session.run(logs.requested_stacks(fences)):
            held = held_tasks[task_id]
            # In a thread, because the source lines are read from files, and a child process may be slow.
            stack = await asyncio.to_thread(self._describe, held)
            await self._session.run(logs.answer_stack(task_id, held.task.fence, held.task.attempt, stack))

    def _describe(self, held: HeldTask) -> str:
        if held.has_ended:
            return HAS_ENDED
        if not held.began_at or not isinstance(held.slot, Slot):
            return NOT_STARTED
        frames = held.slot.frames(self._loop, self._loop_thread)
        process = self._processes.process_of(held.task.id)
        if process is not None:
            places = process.places()
            if places is None:
                return SILENT_PROCESS
            frames += frames_at(places)
        return describe_stack(frames) if frames else NO_FRAMES
