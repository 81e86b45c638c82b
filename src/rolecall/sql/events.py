"""Telemetry events that the engine reports in addition to a statement's result, and their collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import time

import msgspec

from rolecall.sql.statement import Row, compiled
from rolecall.telemetry import Event, EventType
from rolecall.telemetry.events import CHAIN_ENDS, SomeTask
from rolecall.telemetry.groups import Creations, Emission

STORED = frozenset({EventType.JOB_CREATED, EventType.JOB_BLOCKED, EventType.CHAIN_CREATED})
# Consequences of finished tasks: parents finish, other tasks may run, more tasks are stored.
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
    """An event about a task or a chain as the engine reports it; `ids` are those of new tasks that are alike."""

    type: EventType
    ids: list[int] | None = None
    keys: list[str | None] | None = None
    error: str | None = None
    seconds: float | None = None
    chain_seconds: float | None = None

    def events(self, at: float) -> Iterator[Emission]:
        """Yield the group of new tasks; or the event, and the event of the chain's end that it implies."""
        if self.ids is not None:
            yield Creations((self.role or "", self.handler or ""), at, self.ids, self.keys)
            return
        yield Event(type=self.type, at=at, task=self, seconds=self.seconds, error=self.error)
        if self.chain_seconds is not None:
            yield Event(type=CHAIN_ENDS[self.type], at=at, task=self, seconds=self.chain_seconds, error=self.error)


DECODER = msgspec.json.Decoder(compiled(list[CollectedTask]))


@dataclass(slots=True)
class EventCollector:
    """Collects the events of statements. The ends of the tasks `finished_ids` are collected in addition.

    The events have happened only once the transaction has committed.
    """

    finished_ids: Sequence[int] = ()
    events: list[Emission] = field(default_factory=list)

    def forget(self, number: int) -> None:
        """Discard all but the first `number` events, because the transaction was rolled back and will be repeated."""
        del self.events[number:]

    def around(self) -> tuple[str, str]:
        """Return the queries to run before and after a statement in its transaction. Pass the second one's result
        to `take`.
        """
        # Ids are numbers, so parameters are not needed.
        return COLLECT, COLLECTED.format(",".join(map(str, self.finished_ids)))

    def take(self, rows: list[Row]) -> None:
        at = time()
        [[collected]] = rows
        self.events += [each for task in DECODER.decode(collected or "[]") for each in task.events(at)]
