"""The data of metrics, for any exporter: counts and durations of events, and running attempts."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rolecall.telemetry.events import Event, EventType
from rolecall.telemetry.groups import COMPLETIONS, STARTED, Completions, Emission, Place

# Upper bounds in seconds, from an empty handler to a chain that waits for a day.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400)
CHAIN, JOB, ATTEMPT = "chain", "job", "job_attempt"
DURATIONS: Mapping[str, str] = {
    CHAIN: "Seconds from the creation of a chain's first task to the end of the chain.",
    JOB: "Seconds from a task's creation to its end.",
    ATTEMPT: "Seconds from the call of a handler to its end.",
}
TIMED: Mapping[EventType, str] = {
    EventType.CHAIN_COMPLETED: CHAIN,
    EventType.CHAIN_FAILED: CHAIN,
    EventType.CHAIN_CANCELLED: CHAIN,
    EventType.JOB_COMPLETED: JOB,
    EventType.JOB_FAILED: JOB,
    EventType.JOB_CANCELLED: JOB,
    EventType.JOB_ATTEMPT_COMPLETED: ATTEMPT,
    EventType.JOB_ATTEMPT_FAILED: ATTEMPT,
    EventType.JOB_ATTEMPT_SNOOZED: ATTEMPT,
}
# After any of these events, the worker no longer runs the attempt.
ENDS = frozenset(
    {
        EventType.JOB_ATTEMPT_COMPLETED,
        EventType.JOB_ATTEMPT_FAILED,
        EventType.JOB_ATTEMPT_SNOOZED,
        EventType.JOB_ATTEMPT_RETURNED,
        EventType.JOB_ATTEMPT_TAKEN_BY_ANOTHER_WORKER,
        EventType.JOB_ATTEMPT_ALREADY_COMPLETED,
    }
)
# These events have no role and handler.
WITHOUT_TASK = frozenset(
    {
        EventType.WORKER_STARTED,
        EventType.WORKER_ERROR,
        EventType.WORKER_STOPPING,
        EventType.WORKER_STOPPED,
        EventType.CHAIN_DELETED,
        EventType.NOTIFY_ADAPTER_ERROR,
        EventType.STATE_ADAPTER_ERROR,
    }
)

NOWHERE: Place = ("", "")


def place_of(event: Event) -> Place:
    """Return the role and handler of an event, or empty strings."""
    task = event.task
    if task is None or event.type in WITHOUT_TASK:
        return NOWHERE
    return task.role or "", task.handler or ""


class Series:
    """The count of an event for one role and handler; for events with a duration, also a histogram and the sum."""

    __slots__ = ("buckets", "number", "seconds")

    def __init__(self, buckets: int) -> None:
        self.number = 0
        self.buckets = [0] * buckets
        self.seconds = 0.0

    def copy(self) -> Series:
        other = Series(0)
        other.number, other.buckets, other.seconds = self.number, list(self.buckets), self.seconds
        return other


class Tally:
    """Counts the events of this process, and derives what is currently running. Thread-safe.

    Emitters add to it directly, because it never blocks. `buckets` are upper bounds in seconds.
    """

    def __init__(self, buckets: Sequence[float] = ()) -> None:
        self.bounds = tuple(sorted(buckets))
        self._lock = threading.Lock()
        self._series: dict[tuple[EventType, Place], Series] = {}
        self._slots: dict[int, int] = {}
        self._abandoned: Counter[Place] = Counter()

    def add(self, emissions: Sequence[Emission]) -> None:
        with self._lock:
            for each in emissions:
                if isinstance(each, Event):
                    self._add_event(each)
                elif isinstance(each, Completions):
                    self._add_completions(each)
                else:
                    for kind, place, number in each.counts():
                        self._at(kind, place).number += number

    def series(self) -> dict[tuple[EventType, Place], Series]:
        """Return a copy of all counts, by event type, role and handler."""
        with self._lock:
            return {each: series.copy() for each, series in self._series.items()}

    def counts(self, kind: EventType) -> dict[Place, int]:
        """Return the count of an event type for each role and handler."""
        with self._lock:
            return {place: series.number for (counted, place), series in self._series.items() if counted is kind}

    def count_running(self) -> Counter[Place]:
        """Return the number of running attempts for each role and handler."""
        with self._lock:
            return self._under_way() - self._abandoned

    def idle(self) -> int:
        running = self.count_running().total()
        with self._lock:
            return max(0, sum(self._slots.values()) - running)

    def _at(self, kind: EventType, place: Place) -> Series:
        series = self._series.get((kind, place))
        if series is None:
            series = self._series[kind, place] = Series(len(self.bounds) + 1)
        return series

    def _add_event(self, event: Event) -> None:
        series = self._at(event.type, place_of(event))
        series.number += 1
        if event.seconds is not None:
            series.buckets[bisect_left(self.bounds, event.seconds)] += 1
            series.seconds += event.seconds
        if event.worker is not None and event.type in (EventType.WORKER_STARTED, EventType.WORKER_STOPPED):
            self._note_worker(event, event.worker.id)

    def _add_completions(self, group: Completions) -> None:
        alike: defaultdict[tuple[str, str, int], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        for task, ran, age, levels in group.each:
            durations, ages = alike[task.role or "", task.handler or "", levels]
            durations.append(ran)
            ages.append(age)
        for (role, handler, levels), (durations, ages) in alike.items():
            place = role, handler
            self._time(COMPLETIONS[:1], place, durations)
            self._time(COMPLETIONS[1:levels], place, ages)

    def _time(self, kinds: Sequence[EventType], place: Place, durations: list[float]) -> None:
        if not kinds:
            return
        buckets, seconds = list(self._by_bucket(durations)), sum(durations)
        for kind in kinds:
            series = self._at(kind, place)
            series.number += len(durations)
            series.seconds += seconds
            for bucket, number in buckets:
                series.buckets[bucket] += number

    def _by_bucket(self, durations: list[float]) -> Iterator[tuple[int, int]]:
        """Yield buckets with their counts. With many durations, sorting is faster than one lookup each."""
        durations.sort()
        first, bounds = 0, self.bounds
        while first < len(durations):
            bucket = bisect_left(bounds, durations[first])
            after = bisect_right(durations, bounds[bucket]) if bucket < len(bounds) else len(durations)
            yield bucket, after - first
            first = after

    def _under_way(self) -> Counter[Place]:
        running: Counter[Place] = Counter()
        for (kind, place), series in self._series.items():
            if kind is STARTED:
                running[place] += series.number
            elif kind in ENDS:
                running[place] -= series.number
        return running

    def _note_worker(self, event: Event, worker_id: int) -> None:
        slots = (event.data or {}).get("slots")
        if event.type is EventType.WORKER_STARTED and isinstance(slots, int):
            self._slots[worker_id] = slots
            return
        self._slots.pop(worker_id, None)
        if not self._slots:
            # A worker that lost the database may not have reported the end of attempts. They do not run any more.
            self._abandoned = self._under_way()
