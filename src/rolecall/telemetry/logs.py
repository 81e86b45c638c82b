"""Log formats: readable lines or, on request, one JSON object per line.

Everything logs through the standard library. This module only formats records. Fields from `extra={...}`, and the
task's fields within a handler, follow the message as key=value in text and are keys in JSON. A field named `traceback`
follows below the line in text, if tracebacks are enabled. Control characters are escaped, so that quoted text cannot
forge a record.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
from datetime import UTC, datetime
from typing import TextIO

from rolecall.config import LogFormat, LogSettings
from rolecall.telemetry.context import TaskFilter
from rolecall.telemetry.log_sink import FACTS

PACKAGE = "rolecall"
STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Control characters, line separators and bidirectional overrides.
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
TRACEBACK = "traceback"
RESERVED_KEYS = frozenset({"at", "level", "logger", "message", "error"})


def set_up_logging(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Send all records of this process to `stream` (default: stderr), replacing existing handlers.

    The level debug applies to Rolecall and to the packages of `log_package`; other libraries stay at info.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    text = TextLines(tracebacks=settings.tracebacks)
    handler.addFilter(TaskFilter())
    handler.setFormatter(JsonLines() if settings.format is LogFormat.json else text)
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    logging.basicConfig(handlers=[handler], level=max(level, logging.INFO), force=True)
    logging.getLogger(PACKAGE).setLevel(level)


def log_package(module: str) -> None:
    """Log the package of a module, or a module that is in no package, at Rolecall's level."""
    logging.getLogger(module.partition(".")[0]).setLevel(logging.getLogger(PACKAGE).level)


def lowest_level() -> int:
    """Return the level below which neither Rolecall nor a library logs anything."""
    return min(logging.getLogger(name).getEffectiveLevel() for name in (None, PACKAGE))


class TextLines(logging.Formatter):
    """`2026-01-31T12:00:00.123Z [worker] Claimed task 7 (payload_fetch) attempt=1`"""

    def __init__(self, *, tracebacks: bool = False) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        # The message contains the facts of an event already.
        level = "" if record.levelno == logging.INFO else f"{record.levelname} "
        shown = _fields(record)
        shown.pop(FACTS, None)
        traceback = shown.pop(TRACEBACK, None)
        fields = "".join(f" {name}={_format_value(value)}" for name, value in shown.items())
        line = f"{_at(record)} {level}[{_place(record)}] {record.getMessage()}{fields}"
        traces = [*_trace(self, record), *([str(traceback)] if traceback is not None and self._tracebacks else [])]
        return "\n".join((_escape(line), *map(_indent, traces)))


class JsonLines(logging.Formatter):
    """`{"at": ..., "level": "info", "logger": "rolecall.worker", "message": ..., <fields>}`"""

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, object] = {
            "at": _at(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        shown = _fields(record)
        facts = shown.pop(FACTS, None)
        for name, value in {**(facts if isinstance(facts, dict) else {}), **shown}.items():
            document[f"{name}_" if name in RESERVED_KEYS else name] = value
        for trace in _trace(self, record):
            document["error"] = trace
        text = json.dumps(document, default=str, ensure_ascii=False)
        return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: _plain(value) for name, value in vars(record).items() if name not in STANDARD_FIELDS}


def _plain(value: object) -> object:
    # JSON has no nan or inf. One such number must not make the whole line unreadable.
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> tuple[str, ...]:
    if record.exc_info and record.exc_info[0]:
        return (formatter.formatException(record.exc_info),)
    return ()


def _escape(text: str) -> str:
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _indent(trace: str) -> str:
    # An error's text may look like a log line. Log lines do not start with a space, so indentation makes the
    # difference.
    return "\n".join(f"  {_escape(line)}" for line in trace.split("\n"))


def _at(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _place(record: logging.LogRecord) -> str:
    first, _, rest = record.name.partition(".")
    return rest.partition(".")[0] if first == PACKAGE and rest else record.name


def _format_value(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text.isprintable() or " " in text or not text else text
