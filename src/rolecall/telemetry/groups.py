"""What happens to every task, told of many tasks at once: a group is made into events only for who wants these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat
from operator import attrgetter

from rolecall.telemetry.events import Event, EventType, SomeTask, TaskFacts, WorkerFacts

__all__ = ["COMPLETIONS", "STARTED", "Completion", "Completions", "Creations", "Place", "Starts", "Told", "events_of"]

STARTED = EventType.JOB_ATTEMPT_STARTED
CREATIONS = (EventType.JOB_CREATED, EventType.CHAIN_CREATED)
# What a plain completion is: each of these follows from the one before.
COMPLETIONS = (EventType.JOB_ATTEMPT_COMPLETED, EventType.JOB_COMPLETED, EventType.CHAIN_COMPLETED)

# A role and a handler.
Place = tuple[str, str]
# Of a claimed task, which has both.
PLACE = attrgetter("role", "handler")


class Creations:
    """Tasks of one handler that were stored at one moment, each the first of a chain; in the order of their ids."""

    __slots__ = ("at", "ids", "keys", "place")

    def __init__(self, place: Place, at: float, ids: Sequence[int], keys: Sequence[str | None] | None) -> None:
        self.place = place
        self.at = at
        self.ids = ids
        self.keys = keys

    def counts(self) -> Iterator[tuple[EventType, Place, int]]:
        """How often each kind happened at each place."""
        for kind in CREATIONS:
            yield kind, self.place, len(self.ids)

    def events(self, kinds: Collection[EventType]) -> Iterator[Event]:
        """Two events for each, of those kinds: first of all tasks, then of all chains."""
        role, handler = self.place
        for kind in CREATIONS:
            if kind in kinds:
                for task_id, key in zip(self.ids, self.keys or repeat(None), strict=False):
                    task = SomeTask(id=task_id, role=role, handler=handler, attempt=0, key=key, chain_id=task_id)
                    yield Event(type=kind, at=self.at, task=task)


class Starts:
    """Attempts that one worker has begun, in their order, each with its moment in Unix seconds."""

    __slots__ = ("moments", "tasks", "worker")

    def __init__(self, worker: WorkerFacts) -> None:
        self.worker = worker
        self.tasks: list[TaskFacts] = []
        self.moments: list[float] = []

    def counts(self) -> Iterator[tuple[EventType, Place, int]]:
        """How often each kind happened at each place."""
        for place, number in Counter(map(PLACE, self.tasks)).items():
            yield STARTED, place, number

    def events(self, kinds: Collection[EventType]) -> Iterator[Event]:
        """An event for each, if such are asked for."""
        if STARTED in kinds:
            for task, at in zip(self.tasks, self.moments, strict=True):
                yield Event(type=STARTED, at=at, task=task, worker=self.worker)


# The task; the seconds that its attempt ran, and those since the task was created; how many of COMPLETIONS have
# happened: the attempt's alone, its task's too, or their chain's as well. A plain tuple is made in a sixth of the time.
Completion = tuple[TaskFacts, float, float, int]


class Completions:
    """Attempts of one worker that completed, in their order, told at one moment."""

    __slots__ = ("at", "each", "worker")

    def __init__(self, worker: WorkerFacts, at: float) -> None:
        self.worker = worker
        self.at = at
        self.each: list[Completion] = []

    def events(self, kinds: Collection[EventType]) -> Iterator[Event]:
        """Up to three events for each, of those kinds."""
        wanted = [(kind, number) for number, kind in enumerate(COMPLETIONS) if kind in kinds]
        if wanted:
            for task, ran, lived, ended in self.each:
                for kind, number in wanted:
                    if number < ended:
                        seconds = lived if number else ran
                        yield Event(type=kind, at=self.at, task=task, worker=self.worker, seconds=seconds)


Told = Event | Creations | Starts | Completions


def events_of(told: Sequence[Told], kinds: Collection[EventType]) -> list[Event]:
    """Return what was told as events, in its order; of the groups, only those kinds."""
    events: list[Event] = []
    for each in told:
        if isinstance(each, Event):
            events.append(each)
        else:
            events.extend(each.events(kinds))
    return events
