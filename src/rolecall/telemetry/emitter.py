"""Passes events to sinks without waiting for them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Protocol

from rolecall.telemetry.events import Event, EventSink, EventType
from rolecall.telemetry.groups import Emission, events_of
from rolecall.telemetry.log_sink import LogSink
from rolecall.telemetry.measures import Tally

MOST_WAITING = 10_000
FLUSH_WITHIN = 2.0
REST_AFTER = 60.0
COMPLAIN_EVERY = 60.0

log = logging.getLogger("rolecall.telemetry")


class Emits(Protocol):
    """Accepts events and groups of them. `event_types` are those that a sink wants; others need not be created."""

    @property
    def event_types(self) -> frozenset[EventType]: ...

    def emit(self, emissions: Sequence[Emission]) -> None: ...


class Emitter:
    """Passes events to sinks, each in a thread of its own with a queue of 10,000 events.

    Errors of a sink are logged once a minute. A sink that hangs loses events once its queue is full; others are not
    affected. A sink with `event_types`, a collection of types, receives only these. A sink with `emit_all` receives
    whole batches. Log lines are written immediately by the emitting thread, which also adds to the `tally` of a sink
    that has one.
    """

    def __init__(self, sinks: Iterable[EventSink] = (), log_sink: LogSink | None = None) -> None:
        self._log_sink = log_sink
        self._tallies: list[Tally] = []
        self._mailboxes: list[_Mailbox] = []
        for sink in sinks:
            tally = getattr(sink, "tally", None)
            if isinstance(tally, Tally):
                self._tallies.append(tally)
            else:
                self._mailboxes.append(_Mailbox(sink))
        logged = frozenset[EventType]() if log_sink is None else log_sink.event_types
        self._single_event_types = logged.union(*(mailbox.event_types for mailbox in self._mailboxes))
        self.event_types = frozenset(EventType) if self._tallies else self._single_event_types

    def emit(self, emissions: Sequence[Emission]) -> None:
        """Pass events on, in order, from any thread. Returns immediately and never raises.

        The sequence must not be changed afterwards.
        """
        for tally in self._tallies:
            tally.add(emissions)
        events = events_of(emissions, self._single_event_types)
        if events and self._log_sink is not None:
            self._log_sink.emit_all(events)
        for mailbox in self._mailboxes:
            mailbox.put(events)

    def flush(self, within: float = FLUSH_WITHIN) -> None:
        """Wait until sinks have received all queued events, for at most this many seconds in total."""
        until = monotonic() + within
        for mailbox in self._mailboxes:
            mailbox.flush(max(0.0, until - monotonic()))

    @property
    def has_sinks(self) -> bool:
        """True if there are sinks apart from the log, which may have to be flushed."""
        return bool(self._mailboxes)

    @property
    def lost(self) -> int:
        """The number of events lost because of full queues."""
        return sum(mailbox.lost for mailbox in self._mailboxes)


class UntilCommit:
    """Stores the events of a transaction until it has committed."""

    def __init__(self, emitter: Emits) -> None:
        self._emitter = emitter
        self._emissions: list[Emission] = []

    @property
    def event_types(self) -> frozenset[EventType]:
        """The event types that any sink wants."""
        return self._emitter.event_types

    def emit(self, emissions: Sequence[Emission]) -> None:
        self._emissions.extend(emissions)

    def release(self) -> None:
        """Emit the stored events after the commit."""
        emissions, self._emissions = self._emissions, []
        if emissions:
            self._emitter.emit(emissions)


class _Mailbox:
    """The queue of one sink and its thread, which ends after a minute without events."""

    def __init__(self, sink: EventSink) -> None:
        self._name = type(sink).__qualname__
        self._emit = sink.emit
        self._deliver = getattr(sink, "emit_all", None) or self._one_by_one
        self.event_types = frozenset[EventType](getattr(sink, "event_types", EventType))
        self._takes_all = self.event_types.issuperset(EventType)
        self._waiting: deque[Event] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_delivering = False
        self.lost = 0
        self._complain_at = 0.0

    def put(self, events: Sequence[Event]) -> None:
        selected = events if self._takes_all else [event for event in events if event.type in self.event_types]
        if not selected:
            return
        with self._changed:
            room = MOST_WAITING - len(self._waiting)
            self._waiting.extend(selected if len(selected) <= room else selected[:room])
            lost = max(0, len(selected) - room)
            self.lost += lost
            # A forked process does not have its parent's threads.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="rolecall-events", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        if lost:
            self._complain("%s is too slow: %d events lost so far", self.lost)

    def flush(self, within: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._is_delivering), within)

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._deliver(batch)
            except Exception as error:  # noqa: BLE001 - a sink can raise anything
                self._complain("%s failed to handle events: %s", error)

    def _take(self) -> list[Event]:
        with self._changed:
            self._is_delivering = False
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: bool(self._waiting), REST_AFTER):
                self._thread = None
                return []
            batch = list(self._waiting)
            self._waiting.clear()
            self._is_delivering = True
        return batch

    def _one_by_one(self, batch: Sequence[Event]) -> None:
        for event in batch:
            try:
                self._emit(event)
            except Exception as error:  # noqa: BLE001 - a sink can raise anything
                self._complain("%s failed to handle an event: %s", error)

    def _complain(self, problem: str, detail: object) -> None:
        now = monotonic()
        is_quiet = now < self._complain_at
        if not is_quiet:
            self._complain_at = now + COMPLAIN_EVERY
        trace = detail if isinstance(detail, Exception) else None
        log.log(logging.DEBUG if is_quiet else logging.WARNING, problem, self._name, detail, exc_info=trace)
