"""Parsers of typed text. Invalid text raises ValueError with a message to show next to the field.

Only the syntax is checked here. The services check the values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, MutableMapping
from datetime import datetime
from typing import Any, NoReturn

from rolecall.model.durations import read_duration
from rolecall.model.zones import find_zone

INTEGER = re.compile(r"[+-]?\d{1,30}")


def read_field(
    typed: Mapping[str, str], name: str, read: Callable[[str], Any], problems: MutableMapping[str, str]
) -> Any:
    """Parse the text of a field. Return None if it is empty or invalid; in the latter case, store the problem."""
    text = typed.get(name, "")
    if not text.strip():
        return None
    try:
        return read(text)
    except ValueError as error:
        problems[name] = str(error)
        return None


def read_integer(text: str) -> int:
    """Parse a whole number."""
    if not INTEGER.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def read_number(text: str) -> float:
    """Parse a number; an int if it is whole."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        value = None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{text!r} is not a number")  # noqa: TRY004 - the caller shows any ValueError
    return value


def read_json(text: str) -> object:
    """Parse a JSON value."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("this is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None


def read_object(text: str) -> dict[str, object]:
    """Parse a JSON object."""
    value = read_json(text)
    if not isinstance(value, dict):
        raise ValueError("this is JSON, but not an object such as {}")  # noqa: TRY004 - the caller shows any ValueError
    return value


def read_seconds(text: str) -> float:
    """Parse a duration such as 90, 15m or 4h into seconds."""
    return read_duration(text.strip())


def read_moment(text: str, zone: str) -> datetime:
    """Parse a date and time in a zone, or with its own offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date and time such as 2026-01-31T12:00") from None
    if moment.tzinfo:
        return moment
    if found := find_zone(zone or "UTC"):
        return moment.replace(tzinfo=found)
    raise ValueError(f"there is no time zone {zone!r}; give an IANA name such as 'America/Phoenix'")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
