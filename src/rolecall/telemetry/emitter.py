"""From where something happens to whoever wants to hear of it: nothing that a sink does is felt here."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Protocol

from rolecall.telemetry.events import Event, EventSink, EventType
from rolecall.telemetry.groups import Told, events_of
from rolecall.telemetry.log_sink import LogSink
from rolecall.telemetry.measures import Tally

__all__ = ["Emits", "Emitter", "UntilCommit"]

MOST_WAITING = 10_000
FLUSH_WITHIN = 2.0
REST_AFTER = 60.0
COMPLAIN_EVERY = 60.0

log = logging.getLogger("rolecall.telemetry")


class Emits(Protocol):
    """Whatever takes events, and groups of them; `wanted` are the types that anybody wants: make no others."""

    @property
    def wanted(self) -> frozenset[EventType]: ...

    def emit(self, told: Sequence[Told]) -> None: ...


class Emitter:
    """Hands events to sinks, each in a thread of its own with room for 10,000 events.

    A sink that raises is warned of once a minute; one that hangs loses the events that it has no room for, and no
    other sink's. A sink with `wanted`, a collection of types, hears of these only: what nobody wants is never made. One
    with `emit_all` takes a whole batch at a call. The log's lines are written at once, by whoever emits; so is added to
    the `tally` of a sink that has one. `wanted` are the types that any of them wants: make no others.
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
        logged = frozenset[EventType]() if log_sink is None else log_sink.wanted
        self._wanted_as_events = logged.union(*(mailbox.wanted for mailbox in self._mailboxes))
        self.wanted = frozenset(EventType) if self._tallies else self._wanted_as_events

    def emit(self, told: Sequence[Told]) -> None:
        """Hand events over, in their order, from any thread; returns at once, whatever the sinks do, and never raises.

        The sequence is not to be changed afterwards.
        """
        for tally in self._tallies:
            tally.add(told)
        events = events_of(told, self._wanted_as_events)
        if events and self._log_sink is not None:
            self._log_sink.emit_all(events)
        for mailbox in self._mailboxes:
            mailbox.put(events)

    def flush(self, within: float = FLUSH_WITHIN) -> None:
        """Let the sinks take what waits for them, for so many seconds at most in all; blocking."""
        until = monotonic() + within
        for mailbox in self._mailboxes:
            mailbox.flush(max(0.0, until - monotonic()))

    @property
    def has_sinks(self) -> bool:
        """Whether anybody but the log hears of events, and may have to be waited for."""
        return bool(self._mailboxes)

    @property
    def lost(self) -> int:
        """How many events sinks had no room for so far."""
        return sum(mailbox.lost for mailbox in self._mailboxes)


class UntilCommit:
    """Keeps what happens in a transaction, which may still be undone, until somebody who knows releases it."""

    def __init__(self, emitter: Emits) -> None:
        self._emitter = emitter
        self._kept: list[Told] = []

    @property
    def wanted(self) -> frozenset[EventType]:
        """The types that anybody wants."""
        return self._emitter.wanted

    def emit(self, told: Sequence[Told]) -> None:
        """Keep events, in their order."""
        self._kept.extend(told)

    def release(self) -> None:
        """Hand over what was kept: it is committed."""
        kept, self._kept = self._kept, []
        if kept:
            self._emitter.emit(kept)


class _Mailbox:
    """What waits for one sink, and the thread that brings it there: from an event on, until a minute without any."""

    def __init__(self, sink: EventSink) -> None:
        self._name = type(sink).__qualname__
        self._emit = sink.emit
        self._deliver = getattr(sink, "emit_all", None) or self._one_by_one
        self.wanted = frozenset[EventType](getattr(sink, "wanted", EventType))
        self._takes_all = self.wanted.issuperset(EventType)
        self._waiting: deque[Event] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._delivering = False
        self.lost = 0
        self._complain_at = 0.0

    def put(self, events: Sequence[Event]) -> None:
        wanted = events if self._takes_all else [event for event in events if event.type in self.wanted]
        if not wanted:
            return
        with self._changed:
            room = MOST_WAITING - len(self._waiting)
            self._waiting.extend(wanted if len(wanted) <= room else wanted[:room])
            lost = max(0, len(wanted) - room)
            self.lost += lost
            # A process that was forked has no thread any more, whatever its parent had.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="rolecall-events", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        if lost:
            self._complain("%s is too slow: %d events are lost to it so far", self.lost)

    def flush(self, within: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._delivering), within)

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._deliver(batch)
            except Exception as error:  # noqa: BLE001 - a sink may fail in any way, and harms nothing
                self._complain("%s did not take events: %s", error)

    def _take(self) -> list[Event]:
        with self._changed:
            self._delivering = False
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: bool(self._waiting), REST_AFTER):
                self._thread = None
                return []
            batch = list(self._waiting)
            self._waiting.clear()
            self._delivering = True
        return batch

    def _one_by_one(self, batch: Sequence[Event]) -> None:
        for event in batch:
            try:
                self._emit(event)
            except Exception as error:  # noqa: BLE001 - a sink may fail in any way, and harms nothing
                self._complain("%s did not take an event: %s", error)

    def _complain(self, problem: str, what: object) -> None:
        now = monotonic()
        quiet = now < self._complain_at
        if not quiet:
            self._complain_at = now + COMPLAIN_EVERY
        trace = what if isinstance(what, Exception) else None
        log.log(logging.DEBUG if quiet else logging.WARNING, problem, self._name, what, exc_info=trace)
