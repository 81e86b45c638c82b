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
    """Stores the received events."""

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
    event_types: Collection[EventType] = (EventType.JOB_ATTEMPT_FAILED,)


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
    """Hangs at its first event until it is released."""

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


def test_events_reach_every_sink_in_order() -> None:
    first, second = Kept(), Kept()
    emitter = Emitter([first, second])

    emitter.emit([CREATED, FAILED])
    emitter.emit([CREATED])
    emitter.flush()

    assert first.events == second.events == [CREATED, FAILED, CREATED]


def test_sink_receives_only_events_it_wants() -> None:
    choosy = Choosy()
    emitter = Emitter([choosy])

    emitter.emit([CREATED, FAILED])
    emitter.flush()

    assert choosy.events == [FAILED]
    assert emitter.event_types == {EventType.JOB_ATTEMPT_FAILED}


def test_emitter_without_sinks_wants_no_events() -> None:
    assert Emitter().event_types == frozenset()


def test_sink_can_accept_a_batch_per_call() -> None:
    batches = Batches()
    emitter = Emitter([batches])

    emitter.emit([CREATED, FAILED])
    emitter.flush()

    assert batches.batches == [[CREATED, FAILED]]


def test_raising_sink_is_logged_once_and_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    emitter = Emitter([Broken(), kept])

    emitter.emit([CREATED, CREATED])
    emitter.flush()

    assert len(kept.events) == 2
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["Broken failed to handle an event: no disk"]


def test_hanging_sink_blocks_no_other(hanging: Hanging) -> None:
    kept = Kept()
    emitter = Emitter([hanging, kept])
    emitter.emit([CREATED])
    assert hanging.reached.wait(10)

    began = monotonic()
    emitter.emit([FAILED] * 100)
    emitter.flush(within=0.01)

    assert kept.has_heard(101)
    assert monotonic() - began < 5


def test_aggregating_sink_is_updated_immediately(hanging: Hanging) -> None:
    """A scrape includes everything that was emitted before it, even if other sinks are slow."""
    metrics = Prometheus()
    emitter = Emitter([hanging, metrics])

    emitter.emit([CREATED] * (2 * MOST_WAITING))

    assert metrics.tally.counts(EventType.JOB_CREATED) == {("", ""): 2 * MOST_WAITING}


def test_events_over_a_sinks_queue_limit_are_dropped_for_it_and_counted(
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


def test_app_includes_the_sinks_of_its_slices() -> None:
    own, theirs = Kept(), Kept()
    app, slice_ = App("shop", sinks=[own]), App("mail", sinks=[theirs])
    app.include(slice_)

    assert app.sinks == (own, theirs)
    assert app.emitter is app.emitter


def test_every_event_type_has_a_message_and_the_level_of_its_name() -> None:
    assert set(WORDS) == set(EventType)
    assert FAILED.level == LEVELS[FAILED.type] == logging.WARNING
    assert CREATED.level == logging.DEBUG


def test_message_names_the_task_and_quotes_the_first_line_of_the_error() -> None:
    result = Event(type=FAILED.type, at=1.0, task=Facts(), error=FAILED.error)

    assert result.message == "Task 7 (mail) for store:4 failed at attempt 2: ValueError: no"


class Facts:
    id, role, handler, attempt, key, chain_id, parent_id = 7, "mail", "mail", 2, "store:4", 7, None
