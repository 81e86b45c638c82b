"""Task filters as one line of text, for the dashboard's search field, the API and the CLI.

    role:mail state:failed error~429 payload.store:58 age>1h "card declined"

    field:value           equal: role, handler, state, key, worker, chain, parent, id, error (the id of an error group)
    payload.field:value   a field of the payload, or of an object in it: payload.order.id:7
    error~text            the error contains the text
    created>time          created or finished at this time or later; with < before it: 2026-01-31, 2026-01-31T12:00
    age>1h                created more than an hour ago; with < since then
    is:root               not a child of another task
    other words           contained in the handler, key, dedupe key, error or payload

A value, or text with one of the characters `:~<>`, can be quoted: key:"tenant 7". A query that is a number is the id of
a task. A payload's value is a number, true, false or null if it reads like one and is not quoted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rolecall.model.durations import read_duration
from rolecall.model.errors import FilterError
from rolecall.model.hints import close_to
from rolecall.model.operator.insight import TaskFilter

LONGEST = 1_000
LARGEST = 2**63 - 1
WORD = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')
CONDITION = re.compile(r"([a-z_]+)((?:\.[^\s:~<>\"]+)?)([:~<>])(.*)", re.DOTALL)
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Text without quotes must not look like a condition, a quoted text or an id.
PLAIN_TEXT = re.compile(r'[^\s:~<>"]+(?: [^\s:~<>"]+)*')
PLAIN_VALUE = re.compile(r'[^\s"]+')

TEXTS = {"role": "role", "handler": "handler", "state": "state", "key": "key"}
NUMBERS = {"worker": "worker_id", "chain": "chain_id", "parent": "parent_id", "error": "error_group"}
TIMES = {"created": ("created_from", "created_to"), "finished": ("finished_from", "finished_to")}
NAMES = (*TEXTS, *NUMBERS, *TIMES, "id", "is", "age", "payload")


def read_query(text: str, now: datetime | None = None) -> TaskFilter:
    """Return the filter that a text describes; ages are relative to `now`. Raises FilterError."""
    if len(text) > LONGEST:
        raise FilterError(f"the query has {len(text):,} characters; at most {LONGEST:,} are possible")
    if text.strip().isascii() and text.strip().isdigit():
        return TaskFilter(ids=[_number(text, text.strip())])
    found: dict[str, Any] = {}
    texts: list[str] = []
    for word in _words(text):
        condition = CONDITION.fullmatch(word)
        if condition is None:
            texts.append(_unquote(word))
            continue
        for name, value in _conditions(condition, now or datetime.now(UTC)):
            if name == "payload":
                _merge(found.setdefault("payload", {}), value, word)
            elif name in found:
                raise FilterError(f"{word}: there is another condition on {condition[1]}")
            else:
                found[name] = value
    return TaskFilter(**found, text=" ".join(texts) or None)


def combine(first: TaskFilter, second: TaskFilter) -> TaskFilter:
    """Return the filter with the conditions of both, and the page of the first. Raises FilterError if both have one."""
    more: Mapping[str, Any] = second.conditions()
    if both := first.conditions().keys() & more.keys():
        raise FilterError(f"the query and another parameter both filter by {', '.join(sorted(both))}")
    return replace(first, **more)


def write_query(which: TaskFilter) -> str:
    """Return the text that describes a filter; `read_query` reads it as the same filter."""
    conditions = which.conditions()
    return " ".join(_written(name, value) for name, value in conditions.items())


def write_query_with_ages(which: TaskFilter, typed: str) -> str:
    """Return the text that describes a filter, with the ages of the typed text instead of the times that they were.

    So the text means the same number of hours whenever it is read. Raises FilterError.
    """
    found = [(word, CONDITION.fullmatch(word)) for word in _words(typed)]
    ages = {TIMES["created"][age[3] == ">"]: word for word, age in found if age is not None and age[1] == "age"}
    others: Mapping[str, Any] = dict.fromkeys(ages)
    rest = write_query(replace(which, **others))
    return " ".join([rest, *ages.values()] if rest else ages.values())


def _words(text: str) -> Iterator[str]:
    place = 0
    while rest := text[place:].lstrip():
        place = len(text) - len(rest)
        word = WORD.match(rest)
        if word is None or not word[0]:
            raise FilterError(f"{rest}: the closing quote is missing")
        if rest[word.end() :][:1] == '"':
            raise FilterError(f"{rest}: the closing quote is missing")
        place += word.end()
        yield word[0]


def _conditions(condition: re.Match[str], now: datetime) -> Iterator[tuple[str, Any]]:
    word, (name, path, operator, given) = condition[0], condition.groups()
    value = _unquote(given)
    if not given or (not value and name != "payload"):
        raise FilterError(f"{word}: the value is missing")
    if path and name != "payload":
        raise FilterError(f"{word}: only the payload has fields")
    match name, operator:
        case ("payload", ":") if path:
            yield "payload", _nested(path[1:].split("."), _payload_value(given))
        case ("error", "~"):
            yield "error", value
        case ("id", ":"):
            yield "ids", [_number(word, each) for each in value.split(",")]
        case ("is", ":") if value == "root":
            yield "roots", True
        case _, ">" | "<":
            yield _time(word, name, operator, value, now)
        case _, ":" if name in TEXTS:
            yield TEXTS[name], value
        case _, ":" if name in NUMBERS:
            yield NUMBERS[name], _number(word, value)
        case _:
            raise FilterError(f"{word}: {_hint(name)}")


def _time(word: str, name: str, operator: str, value: str, now: datetime) -> tuple[str, datetime]:
    if name == "age":
        return TIMES["created"][operator == ">"], _before(now, word, value)
    if name in TIMES:
        return TIMES[name][operator == "<"], _moment(word, value)
    raise FilterError(f"{word}: {_hint(name)}")


def _hint(name: str) -> str:
    examples = {"is": "only is:root is possible", "payload": "name a field, as in payload.store:58"}
    if name in NAMES:
        return examples.get(name, f"use {name}> or {name}<" if name in {*TIMES, "age"} else f"use {name}:")
    suggestion = close_to(name, NAMES) or f"; the fields are {', '.join(NAMES)}."
    return f"there is no field {name!r}{suggestion} To search for a text, quote it"


def _number(word: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) <= LARGEST):
        raise FilterError(f"{word}: {value!r} is not a number from 0 to {LARGEST}")
    return int(value)


def _before(now: datetime, word: str, age: str) -> datetime:
    try:
        return now - timedelta(seconds=read_duration(age))
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{word}: {error}") from None


def _moment(word: str, value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise FilterError(f"{word}: {value!r} is not a time such as 2026-01-31 or 2026-01-31T12:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _payload_value(given: str) -> object:
    if QUOTED.fullmatch(given):
        return _unquote(given)
    try:
        value = json.loads(given, parse_constant=str)
    except ValueError:
        return _unquote(given)
    is_finite = not isinstance(value, float) or math.isfinite(value)
    return value if value is None or (isinstance(value, bool | int | float) and is_finite) else given


def _nested(path: list[str], value: object) -> dict[str, object]:
    name, *rest = path
    return {name: _nested(rest, value) if rest else value}


def _merge(document: dict[str, Any], more: Mapping[str, Any], word: str) -> None:
    for name, value in more.items():
        if isinstance(document.get(name), dict) and isinstance(value, Mapping):
            _merge(document[name], value, word)
        elif name in document:
            raise FilterError(f"{word}: there is another condition on this field")
        else:
            document[name] = value


def _unquote(text: str) -> str:
    return QUOTED.sub(lambda quoted: re.sub(r"\\(.)", r"\1", quoted[1]), text)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _value(text: str) -> str:
    return text if PLAIN_VALUE.fullmatch(text) else _quote(text)


def _written(name: str, value: Any) -> str:
    match name:
        case "text":
            return value if PLAIN_TEXT.fullmatch(value) and not value.isdigit() else _quote(value)
        case "ids":
            return f"id:{','.join(map(str, value))}"
        case "roots":
            return "is:root"
        case "error":
            return f"error~{_value(value)}"
        case "payload":
            return " ".join(_payload_conditions("payload", value))
    for field, (begin, end) in TIMES.items():
        if name in {begin, end}:
            return f"{field}{'>' if name == begin else '<'}{value.isoformat()}"
    field = next(each for each, stored in (TEXTS | NUMBERS).items() if stored == name)
    return f"{field}:{_value(str(value))}"


def _payload_conditions(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _payload_conditions(f"{path}.{name}", inner)
    elif isinstance(value, str):
        yield f"{path}:{value if PLAIN_VALUE.fullmatch(value) and _payload_value(value) == value else _quote(value)}"
    else:
        yield f"{path}:{json.dumps(value)}"
