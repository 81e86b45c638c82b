"""Events as lines of the log: their words for people, their facts for programs, and no flood of failures."""

from __future__ import annotations

import io
import json
import logging

import pytest

from rolecall import Event, EventType
from rolecall.config import LogFormat, LogSettings
from rolecall.telemetry import Emitter, LogSink, WorkerFacts
from rolecall.telemetry.events import SomeTask
from rolecall.telemetry.logs import set_up_logging

TASK = SomeTask(id=7, role="mail", handler="send", attempt=2, key="store:4", chain_id=5)
FAILED = Event(
    type=EventType.JOB_ATTEMPT_FAILED,
    at=1.0,
    task=TASK,
    worker=WorkerFacts(3, "postman"),
    seconds=0.5,
    error="ValueError: no\n  at line 1",
)


def written(events: list[Event], format_: LogFormat) -> str:
    stream = io.StringIO()
    set_up_logging(LogSettings(format=format_), stream)
    Emitter((), LogSink()).emit(events)
    return stream.getvalue()


def test_text_line_contains_only_the_message() -> None:
    line = written([FAILED], LogFormat.text)

    assert line.endswith("WARNING [worker] Task 7 (send) for store:4 failed at attempt 2: ValueError: no\n")


def test_structured_line_has_the_fields_as_keys() -> None:
    document = json.loads(written([FAILED], LogFormat.json))

    facts = {"event": "job_attempt_failed", "task": 7, "chain": 5, "role": "mail", "handler": "send", "attempt": 2}
    assert (facts | {"key": "store:4", "worker": 3, "seconds": 0.5}).items() <= document.items()
    assert document["traceback"] == FAILED.error


def test_burst_of_failures_is_not_logged_singly() -> None:
    lines = written([FAILED] * 30, LogFormat.text).splitlines()

    assert len(lines) == 11
    assert lines[-1].endswith("More tasks fail; the next summary counts them")


def test_events_below_the_loggers_level_are_not_wanted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rolecall.worker"):
        types = Emitter((), LogSink()).event_types
        assert EventType.JOB_ATTEMPT_FAILED in types
        assert types.isdisjoint({EventType.JOB_ATTEMPT_STARTED, EventType.JOB_COMPLETED})
    with caplog.at_level(logging.DEBUG, "rolecall.worker"):
        assert EventType.JOB_COMPLETED in Emitter((), LogSink()).event_types


def test_events_logged_in_detail_elsewhere_are_skipped() -> None:
    assert written([Event(type=EventType.STATE_ADAPTER_ERROR, at=1.0, error="away")], LogFormat.text) == ""
