"""What the engine tells of tasks besides its answers, to who asks for it: collected by one message, read as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import time

import msgspec

from rolecall.sql.statement import prepared
from rolecall.telemetry import Event, EventType
from rolecall.telemetry.events import CHAIN_ENDS, SomeTask
from rolecall.telemetry.groups import Creations, Told

__all__ = ["DELETED", "ENDS", "RESCUED", "RETRIED", "STORED", "TRIGGERED", "EventCollector"]

STORED = frozenset({EventType.JOB_CREATED, EventType.JOB_BLOCKED, EventType.CHAIN_CREATED})
# What follows when tasks end: parents end, others may run, more tasks are stored.
ENDS = STORED | {
    EventType.JOB_UNBLOCKED,
    EventType.JOB_WAITING,
    *CHAIN_ENDS,
    *CHAIN_ENDS.values(),
}
RESCUED = ENDS | {EventType.JOB_REAPED}
RETRIED = frozenset({EventType.JOB_RETRIED, EventType.JOB_BLOCKED})
TRIGGERED = frozenset({EventType.JOB_TRIGGERED})
DELETED = ENDS | {EventType.CHAIN_DELETED}
COLLECT = "select rolecall.collect_events()"
COLLECTED = "select rolecall.collected_events('{{{}}}'::bigint[])::text"


class CollectedTask(SomeTask, frozen=True, kw_only=True):
    """What the engine tells of a task, or of a chain, in one event; `ids` are those of new tasks that are alike."""

    type: EventType
    ids: list[int] | None = None
    keys: list[str | None] | None = None
    error: str | None = None
    seconds: float | None = None
    chain_seconds: float | None = None

    def told(self, at: float) -> Iterator[Told]:
        """The group; or the event, and the one that tells of the chain's end with it."""
        if self.ids is not None:
            yield Creations((self.role or "", self.handler or ""), at, self.ids, self.keys)
            return
        yield Event(type=self.type, at=at, task=self, seconds=self.seconds, error=self.error)
        if self.chain_seconds is not None:
            yield Event(type=CHAIN_ENDS[self.type], at=at, task=self, seconds=self.chain_seconds, error=self.error)


DECODER = msgspec.json.Decoder(prepared(list[CollectedTask]))


@dataclass(slots=True)
class EventCollector:
    """Collects what happens while statements run; `ended` names tasks of whose end the engine is asked besides.

    What is collected has happened only once the transaction has committed.
    """

    ended: Sequence[int] = ()
    told: list[Told] = field(default_factory=list)

    def forget(self, kept: int) -> None:
        """Forget all that was collected but the first so many: it was undone, and is begun once more."""
        del self.told[kept:]

    def around(self) -> tuple[str, str]:
        """Return the queries to run before and after a statement in its transaction; `take` the second one's answer."""
        # Ids are numbers: they need no parameters.
        return COLLECT, COLLECTED.format(",".join(map(str, self.ended)))

    def take(self, collected: str | None) -> None:
        """Take what was collected."""
        at = time()
        self.told += [each for task in DECODER.decode(collected or "[]") for each in task.told(at)]
