"""Groups of events that occur for every task. They become single events only for sinks that want them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat
from operator import attrgetter

from rolecall.telemetry.events import Event, EventType, SomeTask, TaskFacts, WorkerFacts

STARTED = EventType.JOB_ATTEMPT_STARTED
CREATIONS = (EventType.JOB_CREATED, EventType.CHAIN_CREATED)
# The events of a completion, each of which implies the one before.
COMPLETIONS = (EventType.JOB_ATTEMPT_COMPLETED, EventType.JOB_COMPLETED, EventType.CHAIN_COMPLETED)

# A role and a handler.
Place = tuple[str, str]
# Gets both from a claimed task.
PLACE = attrgetter("role", "handler")


class Creations:
    """Tasks of one handler stored at the same time, each the first of its chain, in the order of their ids."""

    __slots__ = ("at", "ids", "keys", "place")

    def __init__(self, place: Place, at: float, ids: Sequence[int], keys: Sequence[str | None] | None) -> None:
        self.place = place
        self.at = at
        self.ids = ids
        self.keys = keys

    def counts(self) -> Iterator[tuple[EventType, Place, int]]:
        """Yield the count of each event type for each role and handler."""
        for kind in CREATIONS:
            yield kind, self.place, len(self.ids)

    def events(self, kinds: Collection[EventType]) -> Iterator[Event]:
        """Yield up to two events per task, of these types: first those of all tasks, then those of all chains."""
        role, handler = self.place
        for kind in CREATIONS:
            if kind in kinds:
                for task_id, key in zip(self.ids, self.keys or repeat(None), strict=False):
                    task = SomeTask(id=task_id, role=role, handler=handler, attempt=0, key=key, chain_id=task_id)
                    yield Event(type=kind, at=self.at, task=task)


class Starts:
    """Attempts started by one worker, in order, each with its start in Unix seconds."""

    __slots__ = ("moments", "tasks", "worker")

    def __init__(self, worker: WorkerFacts) -> None:
        self.worker = worker
        self.tasks: list[TaskFacts] = []
        self.moments: list[float] = []

    def counts(self) -> Iterator[tuple[EventType, Place, int]]:
        """Yield the count of each event type for each role and handler."""
        for place, number in Counter(map(PLACE, self.tasks)).items():
            yield STARTED, place, number

    def events(self, kinds: Collection[EventType]) -> Iterator[Event]:
        """Yield an event for each attempt, if its type is wanted."""
        if STARTED in kinds:
            for task, at in zip(self.tasks, self.moments, strict=True):
                yield Event(type=STARTED, at=at, task=task, worker=self.worker)


# The task; the attempt's duration and the task's age in seconds; how many events of COMPLETIONS occurred: the
# attempt's, the task's, the chain's. A plain tuple, because creating one takes a sixth of the time of a class.
Completion = tuple[TaskFacts, float, float, int]


class Completions:
    """Completed attempts of one worker, in order, reported together."""

    __slots__ = ("at", "each", "worker")

    def __init__(self, worker: WorkerFacts, at: float) -> None:
        self.worker = worker
        self.at = at
        self.each: list[Completion] = []

    def events(self, kinds: Collection[EventType]) -> Iterator[Event]:
        """Yield up to three events per attempt, of these types."""
        selected = [(kind, number) for number, kind in enumerate(COMPLETIONS) if kind in kinds]
        if selected:
            for task, ran, age, levels in self.each:
                for kind, number in selected:
                    if number < levels:
                        seconds = age if number else ran
                        yield Event(type=kind, at=self.at, task=task, worker=self.worker, seconds=seconds)


Emission = Event | Creations | Starts | Completions


def events_of(emissions: Sequence[Emission], kinds: Collection[EventType]) -> list[Event]:
    """Expand groups into events of these types, in order. Single events are always included."""
    events: list[Event] = []
    for each in emissions:
        if isinstance(each, Event):
            events.append(each)
        else:
            events.extend(each.events(kinds))
    return events
