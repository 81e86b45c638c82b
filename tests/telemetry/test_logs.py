"""Log lines: followable as text, one JSON object a line on request."""

from __future__ import annotations

import io
import json
import logging

import pytest

from rolecall.config import LogFormat, LogLevel, LogSettings
from rolecall.telemetry.logs import log_package, set_up_logging


def written(format_: LogFormat, level: LogLevel = LogLevel.info) -> io.StringIO:
    stream = io.StringIO()
    set_up_logging(LogSettings(format=format_, level=level), stream)
    return stream


def test_text_line_contains_time_logger_and_message() -> None:
    stream = written(LogFormat.text)

    log = logging.getLogger("rolecall.worker.producer")
    log.info("Claimed task %d (%s)", 7, "fetch", extra={"attempt": 1})

    moment, rest = stream.getvalue().rstrip("\n").split(" ", 1)
    assert moment.endswith("Z")
    assert rest == "[worker] Claimed task 7 (fetch) attempt=1"


def test_warning_is_marked_in_text() -> None:
    stream = written(LogFormat.text)

    logging.getLogger("shop").warning("slow")

    assert stream.getvalue().endswith("WARNING [shop] slow\n")


def test_field_with_a_space_is_quoted_in_text() -> None:
    stream = written(LogFormat.text)

    logging.getLogger("shop").info("sold", extra={"product": "a b"})

    assert stream.getvalue().endswith('[shop] sold product="a b"\n')


def test_json_line_is_one_object_with_the_fields_as_keys() -> None:
    stream = written(LogFormat.json)

    odd = {"task": 7, "level": "x", "odd": float("nan")}
    logging.getLogger("rolecall.worker").info("Claimed\ntask", extra=odd)

    [line] = stream.getvalue().splitlines()
    document = json.loads(line, parse_constant=pytest.fail)
    assert document.pop("at").endswith("Z")
    assert document == {
        "level": "info",
        "logger": "rolecall.worker",
        "message": "Claimed\ntask",
        "task": 7,
        "level_": "x",
        "odd": "nan",
    }


def test_exception_is_in_the_same_json_line() -> None:
    stream = written(LogFormat.json)

    try:
        raise ValueError("no good")
    except ValueError:
        logging.getLogger("shop").exception("it broke")

    [line] = stream.getvalue().splitlines()
    assert "ValueError: no good" in json.loads(line)["error"]


FAILURE = {"traceback": "ValueError: over a stone\n  File shop.py, line 7"}


def test_given_traceback_is_in_the_json_line() -> None:
    stream = written(LogFormat.json)

    logging.getLogger("rolecall.worker").warning("Task 7 failed", extra=FAILURE)

    assert json.loads(stream.getvalue())["traceback"] == FAILURE["traceback"]


@pytest.mark.parametrize(
    ("tracebacks", "lines"), [(False, []), (True, ["  ValueError: over a stone", "    File shop.py, line 7"])]
)
def test_text_contains_a_given_traceback_on_request(*, tracebacks: bool, lines: list[str]) -> None:
    stream = io.StringIO()
    set_up_logging(LogSettings(tracebacks=tracebacks), stream)

    logging.getLogger("rolecall.worker").warning("Task 7 failed", extra=FAILURE)

    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("WARNING [worker] Task 7 failed")
    assert rest == lines


def test_records_below_the_level_are_omitted() -> None:
    stream = written(LogFormat.text, LogLevel.warning)

    logging.getLogger("otherwise").info("chatter")

    assert stream.getvalue() == ""


def test_debug_records_are_those_of_rolecall_and_the_apps_package() -> None:
    stream = written(LogFormat.text, LogLevel.debug)
    log_package("shopfront.app")

    for name in ("rolecall.worker", "shopfront.prices", "otherwise"):
        logging.getLogger(name).debug("chatter")

    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["[worker]", "[shopfront.prices]"]


def test_logging_set_up_twice_writes_each_record_once() -> None:
    written(LogFormat.text)
    stream = written(LogFormat.text)

    logging.getLogger("shop").info("once")

    assert len(stream.getvalue().splitlines()) == 1


FORGED = "no\n2026-01-01T00:00:00.000Z [worker] all is well\x1b[2J\x9b\u2028\u202eend"


@pytest.mark.parametrize("format_", list(LogFormat))
def test_message_cannot_forge_a_log_line(format_: LogFormat) -> None:
    """Control characters are escaped in messages and fields."""
    stream = written(format_)

    logging.getLogger("shop").info(FORGED, extra={"field": FORGED})

    [line] = stream.getvalue().split("\n")[:-1]
    assert line.isprintable()
    assert line.count("2026-01-01T00:00:00.000Z [worker] all is well") == 2


def test_quoted_error_text_cannot_start_a_log_line() -> None:
    stream = written(LogFormat.text)

    try:
        raise ValueError(FORGED)
    except ValueError:
        logging.getLogger("shop").exception("it broke")

    _first, *trace = stream.getvalue().split("\n")[:-1]
    assert all(line.startswith("  ") and line.isprintable() for line in trace)
