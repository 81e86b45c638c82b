"""Large values: fetched before a handler is called, and moved out of next tasks before these are stored."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from dataclasses import dataclass

from rolecall.model.errors import PayloadMissing
from rolecall.model.large import KeepsLarge, pointers_in, with_next
from rolecall.model.tasks import NewTask, NextTasks
from rolecall.worker.in_flight import HeldTask


@dataclass(frozen=True, slots=True)
class LargeFields:
    """Access to the store for large values, if there is one. Its async methods do not block the loop."""

    store: KeepsLarge | None
    handlers: Container[str]

    async def attach(self, held: HeldTask) -> None:
        """Replace the pointers in a task's payload by their values. Raises PayloadMissing."""
        names = pointers_in(held.task.payload_json)
        if not names:
            return
        if self.store is None:
            raise PayloadMissing(
                f"the field {names[0]!r} of the payload is stored elsewhere: pass large= to this App as well"
            )
        whole = await asyncio.to_thread(self.store.attached, held.task.payload_json)
        held.task = held.task._replace(payload_json=whole)

    async def detach(self, tasks: NextTasks | None) -> NextTasks | None:
        """Return the tasks with pointers in place of large values. Raises PayloadMissing."""
        if tasks is None or self.store is None:
            return tasks
        return await asyncio.to_thread(with_next, tasks, self._detach_batch)

    def detach_now(self, tasks: NextTasks | None) -> NextTasks | None:
        """Do the same, blocking."""
        return tasks if tasks is None or self.store is None else with_next(tasks, self._detach_batch)

    def _detach_batch(self, batch: Sequence[NewTask]) -> Sequence[NewTask]:
        return batch if self.store is None else self.store.detached(batch, self.handlers)


NOWHERE = LargeFields(None, ())
