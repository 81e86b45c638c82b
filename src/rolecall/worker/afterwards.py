"""Makes the calls that handlers want made when their task's outcome is stored as completed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from rolecall.db.after_commit import Call, make_calls_async
from rolecall.model.outcomes import Completed
from rolecall.worker.in_flight import HeldTask, fresh_context

ACCEPTED_BEFORE = "already"
log = logging.getLogger("rolecall.worker")


class Afterwards:
    """The calls of one worker; they are made beside its work, those of a task one after the other.

    A worker none of whose handlers asks for any only looks at `wanted`.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._under_way: set[asyncio.Task[None]] = set()

    def add(self, held: HeldTask, call: Call) -> None:
        """Make the call if the task's outcome is stored as completed; handlers in threads ask for it too."""
        self.wanted = True
        if held.afterwards is None:
            held.afterwards = []
        held.afterwards.append(call)

    def stored(self, group: Iterable[HeldTask], verdicts: Mapping[int, str]) -> None:
        """Make the calls of those of the tasks whose report was accepted, now or before its answer was lost."""
        for held in group:
            calls, held.afterwards = held.afterwards, None
            if calls and type(held.report) is Completed and verdicts.get(held.task.id) in (None, ACCEPTED_BEFORE):
                task = asyncio.create_task(make_calls_async(calls), context=fresh_context())
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    async def settle(self, seconds: float) -> None:
        """Wait for the calls under way; what takes longer is given up."""
        if not self._under_way:
            return
        _, late = await asyncio.wait(self._under_way, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            log.warning("The calls after the commit of %d tasks were given up: the worker stops", len(late))
