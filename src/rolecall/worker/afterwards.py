"""Makes the after-commit calls of tasks whose outcome is stored as completed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from rolecall.db.after_commit import Call, make_calls_async
from rolecall.model.outcomes import Completed
from rolecall.worker.in_flight import HeldTask, fresh_context

ACCEPTED_BEFORE = "already"
log = logging.getLogger("rolecall.worker")


class AfterCommitCalls:
    """The after-commit calls of one worker. They run concurrently with its work; those of one task run in order.

    While no handler has requested a call, the worker only checks `has_calls`.
    """

    def __init__(self) -> None:
        self.has_calls = False
        self._under_way: set[asyncio.Task[None]] = set()

    def add(self, held: HeldTask, call: Call) -> None:
        """Request a call for when the task's outcome is stored as completed. Can be called from any thread."""
        self.has_calls = True
        if held.after_commit_calls is None:
            held.after_commit_calls = []
        held.after_commit_calls.append(call)

    def make_calls(self, group: Iterable[HeldTask], verdicts: Mapping[int, str]) -> None:
        """Make the calls of the tasks whose completion was accepted, now or by an earlier, unanswered report."""
        for held in group:
            calls, held.after_commit_calls = held.after_commit_calls, None
            if calls and type(held.report) is Completed and verdicts.get(held.task.id) in (None, ACCEPTED_BEFORE):
                task = asyncio.create_task(make_calls_async(calls), context=fresh_context())
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    async def settle(self, seconds: float) -> None:
        """Wait for the calls in progress and cancel those that take longer."""
        if not self._under_way:
            return
        _, late = await asyncio.wait(self._under_way, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            log.warning("The after-commit calls of %d tasks were cancelled: the worker stops", len(late))
