"""Large fields of payloads: read before a handler is called, kept elsewhere before what comes next is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from dataclasses import dataclass

from rolecall.model.errors import PayloadMissing
from rolecall.model.large import KeepsLarge, pointers_in, with_next
from rolecall.model.tasks import NewTask, NextTasks
from rolecall.worker.in_flight import HeldTask

__all__ = ["NOWHERE", "LargeFields"]


@dataclass(frozen=True, slots=True)
class LargeFields:
    """What keeps the large fields of the handlers' tasks, if anything does; nothing blocks the loop."""

    store: KeepsLarge | None
    handlers: Container[str]

    async def attach(self, held: HeldTask) -> None:
        """Read what is kept elsewhere of a task's payload. Raises PayloadMissing."""
        names = pointers_in(held.task.payload_json)
        if not names:
            return
        if self.store is None:
            raise PayloadMissing(
                f"the field {names[0]!r} of the payload is kept elsewhere: say App(large=...) here, too"
            )
        whole = await asyncio.to_thread(self.store.attached, held.task.payload_json)
        held.task = held.task._replace(payload_json=whole)

    async def detach(self, tasks: NextTasks | None) -> NextTasks | None:
        """Return what comes next with what is large of it kept elsewhere. Raises PayloadMissing."""
        if tasks is None or self.store is None:
            return tasks
        return await asyncio.to_thread(with_next, tasks, self._detached)

    def detach_now(self, tasks: NextTasks | None) -> NextTasks | None:
        """Do the same for who may wait."""
        return tasks if tasks is None or self.store is None else with_next(tasks, self._detached)

    def _detached(self, batch: Sequence[NewTask]) -> Sequence[NewTask]:
        return batch if self.store is None else self.store.detached(batch, self.handlers)


NOWHERE = LargeFields(None, ())
