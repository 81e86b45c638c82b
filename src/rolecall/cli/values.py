"""Parses command-line arguments: payloads, dates, durations. Raises InvalidTask or ConfigError."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

from rolecall.model import durations
from rolecall.model.errors import ConfigError, InvalidTask


def read_payload(argument: str) -> dict[str, object]:
    """Parse a payload from JSON text, `@file` or stdin (`-`)."""
    value = read_json(argument, "payload")
    if not isinstance(value, dict):
        raise InvalidTask(f"the payload is {_kind(value)}, not an object")
    return value


def read_json(argument: str, name: str) -> object:
    """Parse JSON text, `@file` or stdin (`-`). Error messages call the value `name`."""
    text = _text(argument, name)

    def refuse_constant(constant: str) -> NoReturn:
        raise InvalidTask(f"the {name} contains {constant}, which is not JSON")

    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError:
        raise InvalidTask(f"the {name} is nested too deeply") from None
    except ValueError as error:
        raise InvalidTask(f"the {name} is not JSON: {error}; pass JSON text, @FILE, or - for stdin") from None


def read_date(text: str) -> datetime:
    """Parse an ISO 8601 date or datetime. Without an offset, it is in the local time zone."""
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError):
        raise InvalidTask(f"{text!r} is not a date (such as 2026-01-31T12:00:00Z)") from None


def read_duration(text: str, flag: str) -> float:
    """Parse a duration and return seconds: 90, 1.5, 15m, 4h, 1d12h."""
    try:
        return durations.read_duration(text)
    except ValueError as error:
        raise ConfigError(str(error), variable=flag, value=text) from None


def read_past(text: str, flag: str) -> datetime:
    """Parse a date (as `read_date`), or a duration (as `read_duration`) before the present."""
    when = read_when(text, flag)
    return when if isinstance(when, datetime) else datetime.now(UTC) - timedelta(seconds=when)


def read_when(text: str, flag: str) -> float | datetime:
    """Parse a duration (as `read_duration`) or a date (as `read_date`)."""
    try:
        return durations.read_duration(text)
    except ValueError:
        pass
    try:
        return read_date(text)
    except InvalidTask:
        problem = f"{text!r} is neither a duration such as 90 or 15m, nor a date such as 2026-01-31T12:00:00Z"
        raise ConfigError(problem, variable=flag, value=text) from None


def _text(argument: str, name: str) -> str:
    try:
        if argument == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig")
        if argument.startswith("@"):
            return Path(argument[1:]).read_bytes().decode("utf-8-sig")
    except OSError as error:
        problem = f"{argument[1:]!r} cannot be read: {error.strerror}"
        raise ConfigError(problem, variable=name.upper(), value=argument) from None
    except UnicodeDecodeError:
        raise InvalidTask(f"the {name} is not UTF-8") from None
    return argument


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case list():
            return "a list"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case _:
            return "a number"
