"""The query of a page of tasks: parsed without raising errors, and encoded again with changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams

from rolecall.model.errors import FilterError
from rolecall.model.operator import task_query
from rolecall.model.operator.insight import TaskFilter
from rolecall.web.fields.aliases import SecondNames
from rolecall.web.fields.task_filters import Filter, Listing, task_filter

PAGE = 25
# The value of a time field if no script added the viewer's zone. The field's label says UTC then.
WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?)?")
MOMENTS = ("created_from", "created_to", "finished_from", "finished_to")
FIELDS = tuple(name for name in Filter.model_fields if name not in {"status", "worker_id"})
NO_NAMES = SecondNames(aliases={}, constants={})
LABELS = {
    "ids": "task",
    "worker": "worker",
    "chain": "chain",
    "parent": "parent",
    "q": "search",
    "roots": "only roots",
    "created_from": "created from",
    "created_to": "created before",
    "finished_from": "finished from",
    "finished_to": "finished before",
    "error_group": "error group",
}
WHAT_FITS = {
    "int_parsing": "is not a number",
    "greater_than_equal": "is not a valid id",
    "less_than_equal": "is not a valid id",
    "bool_parsing": "is neither true nor false",
    "string_too_long": "is longer than 200 characters",
    "too_long": "are more than 1,000 tasks",
}
# The parameters of conditions that have another name, and the conditions that have none.
PARAMETERS = {"worker_id": "worker", "chain_id": "chain", "parent_id": "parent"}
ONLY_IN_QUERY = frozenset({"text", "error", "payload"})
NO_MOMENT = "is not a time such as 2026-01-31T12:00"
LONGEST_SHOWN = 60
Words = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQuery:
    """The filter of a page of tasks; `problem` is the reason why it is invalid."""

    words: Words
    filter: TaskFilter
    problem: str | None = None
    examples: ClassVar[Sequence[str]] = (
        "role:mail", "state:failed", "key:7", "error~429", "payload.store:58", "age>1h", "is:root",
    )  # fmt: skip

    def word(self, name: str) -> str:
        """Return the text of a parameter; empty if it is missing."""
        return ", ".join(self.words.get(name, ()))

    def moment(self, name: str) -> datetime | None:
        """Return the time of a parameter; None if it is missing or invalid."""
        given = getattr(self.filter, name) if name in MOMENTS else None
        return given if isinstance(given, datetime) else None

    @property
    def conditions(self) -> list[tuple[str, str, str]]:
        """The filters besides the state: parameter, label and value."""
        named = [(name, LABELS.get(name, name), self.word(name)) for name in FIELDS if name in self.words]
        return [each for each in named if each[0] != "state"]

    def fields(self) -> list[tuple[str, str]]:
        """Return the parameters one by one, as a form sends them."""
        return [(name, value) for name, values in self.words.items() for value in values]

    def encode(self, **changes: str | None) -> str:
        """Return the parameters as a query string with changes. None removes a parameter."""
        remaining = [(name, value) for name, value in self.fields() if name not in changes]
        return urlencode([*remaining, *((name, value) for name, value in changes.items() if value)])


def read_query(given: QueryParams | FormData, *, cursor: str | None = None) -> TaskQuery:
    """Parse a query. Invalid values become `problem`; unknown parameters are ignored.

    Conditions in `q` become parameters, and replace those that are given too. What has no parameter remains in `q`.
    """
    words = _words(given)
    try:
        words = _expand(words)
        listing = Listing.model_validate(_values(words))
        return TaskQuery(words=words, filter=task_filter(listing, NO_NAMES, cursor=cursor, limit=PAGE))
    except ValidationError as error:
        problem = "; ".join(_sentence(words, each["loc"], each["type"]) for each in error.errors())
    except FilterError as error:
        problem = str(error)
    return TaskQuery(words=words, filter=TaskFilter(), problem=problem)


def _words(given: QueryParams | FormData) -> Words:
    named = {name: _texts(given.getlist(name)) for name in FIELDS}
    if not named["state"]:
        named["state"] = _texts(given.getlist("status"))
    return {name: values if name == "ids" else values[-1:] for name, values in named.items() if values}


def _expand(words: Words) -> Words:
    typed = task_query.read_query(words["q"][0]) if "q" in words else TaskFilter()
    found = {PARAMETERS.get(name, name): _parameter(value) for name, value in typed.conditions().items()}
    [text] = words.get("text", (None,))
    rest = task_query.write_query(TaskFilter(text=typed.text or text, error=typed.error, payload=typed.payload))
    merged = {**words, **found, "q": (rest,)}
    return {name: values for name, values in merged.items() if name not in ONLY_IN_QUERY and values != ("",)}


def _parameter(value: object) -> tuple[str, ...]:
    match value:
        case datetime():
            return (value.isoformat(),)
        case list():
            return tuple(map(str, value))
        case bool():
            return ("true",)
        case _:
            return (str(value),)


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value.strip())


def _values(words: Words) -> dict[str, object]:
    return {name: list(values) if name == "ids" else _value(name, values[0]) for name, values in words.items()}


def _value(name: str, text: str) -> str:
    return with_zone(text) if name in MOMENTS else text


def with_zone(text: str) -> str:
    """Return the value of a time field with its zone: UTC, if no script has added another."""
    if not WITHOUT_ZONE.fullmatch(text):
        return text
    return f"{text}Z" if "T" in text else f"{text}T00:00Z"


def _sentence(words: Words, place: tuple[int | str, ...], kind: str) -> str:
    name = str(place[0])
    values = words[name]
    text = values[place[1]] if len(place) > 1 and isinstance(place[1], int) else ", ".join(values)
    shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
    wrong = NO_MOMENT if name in MOMENTS else WHAT_FITS.get(kind, "is not a valid filter")
    return f"{LABELS.get(name, name)}: “{shown}” {wrong}"
