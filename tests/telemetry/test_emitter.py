"""Sinks run in their own threads and never affect the emitter."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Sequence
from time import monotonic

import pytest

from rolecall import App, Event, EventType
from rolecall.telemetry import Emitter
from rolecall.telemetry.emitter import MOST_WAITING
from rolecall.telemetry.events import LEVELS, WORDS
from rolecall.telemetry.prometheus import Prometheus

CREATED = Event(type=EventType.JOB_CREATED, at=1.0)
FAILED = Event(type=EventType.JOB_ATTEMPT_FAILED, at=2.0, error="ValueError: no\n  trace")


class Kept:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._heard = threading.Condition()

    def emit(self, event: Event) -> None:
        with self._heard:
            self.events.append(event)
            self._heard.notify_all()

    def has_heard(self, number: int) -> bool:
        with self._heard:
            return self._heard.wait_for(lambda: len(self.events) >= number, 10)


class Choosy(Kept):
    wanted: Collection[EventType] = (EventType.JOB_ATTEMPT_FAILED,)


class Batches:
    def __init__(self) -> None:
        self.batches: list[Sequence[Event]] = []

    def emit(self, event: Event) -> None:
        raise NotImplementedError

    def emit_all(self, events: Sequence[Event]) -> None:
        self.batches.append(events)


class Broken:
    def emit(self, event: Event) -> None:
        raise RuntimeError("no disk")


class Hanging:
    """Hangs at its first event until it is let go."""

    def __init__(self) -> None:
        self.reached, self.let_go = threading.Event(), threading.Event()

    def emit(self, event: Event) -> None:
        self.reached.set()
        self.let_go.wait()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    sink = Hanging()
    yield sink
    sink.let_go.set()


def test_events_reach_every_sink_in_their_order() -> None:
    first, second = Kept(), Kept()
    emitter = Emitter([first, second])

    emitter.emit([CREATED, FAILED])
    emitter.emit([CREATED])
    emitter.flush()

    assert first.events == second.events == [CREATED, FAILED, CREATED]


def test_a_sink_hears_of_what_it_wants_only() -> None:
    choosy = Choosy()
    emitter = Emitter([choosy])

    emitter.emit([CREATED, FAILED])
    emitter.flush()

    assert choosy.events == [FAILED]
    assert emitter.wanted == {EventType.JOB_ATTEMPT_FAILED}


def test_nothing_is_wanted_where_there_is_no_sink() -> None:
    assert Emitter().wanted == frozenset()


def test_a_sink_may_take_a_batch_at_a_call() -> None:
    batches = Batches()
    emitter = Emitter([batches])

    emitter.emit([CREATED, FAILED])
    emitter.flush()

    assert batches.batches == [[CREATED, FAILED]]


def test_a_sink_that_raises_is_warned_of_once_and_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    emitter = Emitter([Broken(), kept])

    emitter.emit([CREATED, CREATED])
    emitter.flush()

    assert len(kept.events) == 2
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["Broken failed to handle an event: no disk"]


def test_a_sink_that_hangs_holds_up_nobody(hanging: Hanging) -> None:
    kept = Kept()
    emitter = Emitter([hanging, kept])
    emitter.emit([CREATED])
    assert hanging.reached.wait(10)

    began = monotonic()
    emitter.emit([FAILED] * 100)
    emitter.flush(within=0.01)

    assert kept.has_heard(101)
    assert monotonic() - began < 5


def test_what_a_sink_adds_up_is_there_at_once(hanging: Hanging) -> None:
    """A scrape tells of all that was emitted before it, however slow others are."""
    metrics = Prometheus()
    emitter = Emitter([hanging, metrics])

    emitter.emit([CREATED] * (2 * MOST_WAITING))

    assert metrics.tally.counts(EventType.JOB_CREATED) == {("", ""): 2 * MOST_WAITING}


def test_what_a_sink_has_no_room_for_is_lost_to_it_alone_and_counted(
    hanging: Hanging, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept()
    emitter = Emitter([hanging, kept])
    emitter.emit([CREATED])
    assert hanging.reached.wait(10)

    emitter.emit([FAILED] * (MOST_WAITING - 1))
    assert kept.has_heard(MOST_WAITING)
    emitter.emit([FAILED, FAILED, FAILED])

    assert emitter.lost == 2
    assert kept.has_heard(MOST_WAITING + 3)
    assert "Hanging is too slow: 2 events lost so far" in caplog.text


def test_an_app_has_the_sinks_of_what_it_includes() -> None:
    own, theirs = Kept(), Kept()
    app, slice_ = App("shop", sinks=[own]), App("mail", sinks=[theirs])
    app.include(slice_)

    assert app.sinks == (own, theirs)
    assert app.emitter is app.emitter


def test_every_type_has_its_words_and_a_level_that_its_name_promises() -> None:
    assert set(WORDS) == set(EventType)
    assert FAILED.level == LEVELS[FAILED.type] == logging.WARNING
    assert CREATED.level == logging.DEBUG


def test_a_message_names_the_task_and_quotes_the_first_line_of_the_error() -> None:
    told = Event(type=FAILED.type, at=1.0, task=Facts(), error=FAILED.error)

    assert told.message == "Task 7 (mail) for store:4 failed at attempt 2: ValueError: no"


class Facts:
    id, role, handler, attempt, key, chain_id, parent_id = 7, "mail", "mail", 2, "store:4", 7, None
