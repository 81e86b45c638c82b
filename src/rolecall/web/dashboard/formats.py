"""Formats values for people, as plain text. The templates escape it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from rolecall.model import error_text

__all__ = [
    "as_json",
    "as_line",
    "brief",
    "count",
    "duration",
    "exact",
    "first_line",
    "gist",
    "instant",
    "measured",
    "minute_of",
    "moment_field",
    "rate",
    "sentence",
    "share",
    "size",
    "split_moments",
]

MINUTE = 60.0
THOUSAND = 1_000
HUNDRED = 100
UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))
SIZES = ("B", "kB", "MB", "GB", "TB")
NOTHING = "–"
LONGEST_LINE = 300
FACTS = 4
# Rates below this are easier to read in the next longer unit.
SLOW = 0.1
# A time in a sentence, as the engine writes it.
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ)")
SLOWER = {"s": (60.0, "min"), "min": (60.0, "h")}


def count(number: float | None) -> str:
    """Format a number with thousands separators, as assets/locale.js does; a dash for None."""
    if number is None:
        return NOTHING
    return f"{number:,.0f}" if float(number).is_integer() or abs(number) >= HUNDRED else f"{number:,.1f}"


def duration(seconds: float | None) -> str:
    """Format seconds in the two largest units: `3 h 5 min`, `1.2 s`, `80 ms`."""
    if seconds is None:
        return NOTHING
    if seconds == 0:
        return "0 s"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 1:
        return f"{seconds * THOUSAND:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return _in_two_units(round(seconds))


def brief(seconds: float | None) -> str:
    """Format seconds in one unit: `10.7 min`."""
    if seconds is None or seconds < MINUTE:
        return duration(seconds)
    length, name = next((length, name) for length, name in UNITS if seconds >= length)
    return f"{seconds / length:.3g} {name}"


def rate(number: float | None, unit: str = "s") -> str:
    """Format a rate. A small one per second becomes a rate per minute or hour: `1/min`."""
    if number is None:
        return NOTHING
    if unit in SLOWER and 0 < number < SLOW:
        times, slower = SLOWER[unit]
        return rate(number * times, slower)
    return f"{number:.3g}/{unit}" if number < HUNDRED else f"{count(round(number))}/{unit}"


def share(number: float | None) -> str:
    """Format a share of 1 as a percentage."""
    return NOTHING if number is None else f"{number * 100:.0f} %"


def size(number: float | None) -> str:
    """Format a number of bytes."""
    if number is None:
        return NOTHING
    left = float(number)
    for unit in SIZES[:-1]:
        if abs(left) < THOUSAND:
            return f"{left:.3g} {unit}"
        left /= THOUSAND
    return f"{left:.3g} {SIZES[-1]}"


def exact(moment: datetime | None) -> str:
    """Format a time in UTC to the second, for browsers without scripts."""
    return NOTHING if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def moment_field(text: str) -> str:
    """Return a time from the URL as the value of an input field, in UTC; empty if it is invalid."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return f"{moment if moment.tzinfo is None else moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def measured(number: float | None, unit: str) -> str:
    """Format a figure of a plot by its unit: s, count, /s, price, B."""
    match unit:
        case "s":
            return duration(number)
        case "/s":
            return rate(number)
        case "B":
            return size(number)
        case "price":
            return NOTHING if number is None else f"{number:,.2f}"
        case _:
            return count(number)


def minute_of(seconds: float) -> str:
    """Format a time in seconds since 1970 to the minute, in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def instant(seconds: float) -> str:
    """Format a time in seconds since 1970 as an ISO time in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def as_json(value: object) -> str:
    """Format a value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def as_line(value: object) -> str:
    """Format a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def first_line(text: str | None) -> str:
    """Return the first line of an error, or the last one of a traceback, shortened if necessary."""
    line = error_text.first_line(text)
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def sentence(text: str) -> str:
    """Format a text as a sentence, with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def split_moments(text: str) -> list[str | datetime]:
    """Split a sentence into its texts and times, so that a page can show the times in the reader's time zone."""
    return [datetime.fromisoformat(part) if number % 2 else part for number, part in enumerate(MOMENT.split(text))]


def gist(facts: Mapping[str, object] | None) -> str:
    """Return the first facts of an info on one line: `fetched 3 · failed 1`. Of nested values, only the names."""
    plain = {name: value for name, value in (facts or {}).items() if isinstance(value, str | int | float)}
    nested = [name for name in facts or {} if name not in plain]
    words = [f"{name} {value}" for name, value in plain.items()] + [f"{name} …" for name in nested]
    return first_line(" · ".join(words[:FACTS]) + (" · …" if len(words) > FACTS else ""))


def _in_two_units(seconds: int) -> str:
    for index, (length, name) in enumerate(UNITS):
        if seconds >= length:
            whole, rest = divmod(seconds, int(length))
            smaller, word = UNITS[index + 1] if index + 1 < len(UNITS) else (1.0, "s")
            more = int(rest // smaller)
            return f"{whole} {name} {more} {word}" if more else f"{whole} {name}"
    return f"{seconds} s"
