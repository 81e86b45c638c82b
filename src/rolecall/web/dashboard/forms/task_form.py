"""The form that creates a task: made from the schema of a handler's payload, read into what the API takes too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from rolecall.model.errors import InvalidPayload, InvalidTask, RolecallError
from rolecall.web.dashboard.forms.payload_fields import PayloadField
from rolecall.web.dashboard.forms.reading import (
    read_field,
    read_integer,
    read_json,
    read_moment,
    read_number,
    read_object,
    read_seconds,
)
from rolecall.web.new_tasks import TaskRequest

__all__ = ["NotReadable", "TaskForm", "as_typed"]

READERS: Mapping[str, Callable[[str], object]] = {
    "text": str,
    "integer": read_integer,
    "number": read_number,
    "choice": read_json,
    "json": read_json,
}
# What can be said of a task besides its payload: the words of the API, each with how its text is read.
OPTIONS: Mapping[str, Callable[[str], object]] = {
    "priority": read_integer,
    "after": read_seconds,
    "key": str,
    "dedupe_key": str,
    "max_attempts": read_integer,
    "timeout": read_seconds,
}
NEEDED = "this is needed"
PLACE = re.compile(r"\$\.(\w+)")
LACKING = re.compile(r"field `(\w+)`$")


class NotReadable(Exception):
    """What was typed cannot be what is wanted; the form holds what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskForm:
    """What was typed, by the names of the form's fields, and what is wrong with it; `""` is about the whole.

    Without `fields` the payload is typed as JSON.
    """

    fields: tuple[PayloadField, ...] | None
    typed: Mapping[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def request(self, handler: str) -> TaskRequest:
        """Read it. Raises NotReadable where something cannot be read; nothing is checked against the schema here."""
        payload = self._whole_payload() if self.fields is None else self._payload(self.fields)
        said = {name: value for name, read in OPTIONS.items() if (value := self._read(name, read)) is not None}
        said |= self._moment() | self._dedupe()
        if self.problems:
            raise NotReadable
        try:
            return TaskRequest.model_validate({"handler": handler, "payload": payload, **said})
        except ValidationError as error:
            for each in error.errors():
                self.problems[str(each["loc"][0])] = str(each["msg"])
            raise NotReadable from error

    def blame(self, error: RolecallError) -> None:
        """Put what the service refuses beside the field that it is about."""
        match error:
            case InvalidPayload():
                problem = str(error.details["problem"])
                self.problems[self._place_of(problem)] = problem
            case InvalidTask():
                problem = error.problem.removeprefix("task 0: ")
                named = (name for name in ("scheduled_for", *OPTIONS) if re.search(rf"\b{name}\b", problem))
                self.problems[next(named, "")] = problem
            case _:
                self.problems[""] = str(error)

    @property
    def options_typed(self) -> bool:
        """True if anything besides the payload was said, or is wrong."""
        names = {"scheduled_for", "dedupe", *OPTIONS}
        return any(self.typed.get(name) for name in names) or bool(names & self.problems.keys())

    def _place_of(self, problem: str) -> str:
        if self.fields is None:
            return "payload"
        found = PLACE.search(problem) or LACKING.search(problem)
        names = {each.name: each.key for each in self.fields}
        return names.get(found[1], "") if found else ""

    def _payload(self, fields: tuple[PayloadField, ...]) -> dict[str, object]:
        payload: dict[str, object] = {}
        for each in fields:
            if self.typed.get(each.key, "").strip():
                payload[each.name] = self._read(each.key, READERS[each.kind])
            elif each.required and each.nullable:
                payload[each.name] = None
            elif each.required:
                self.problems[each.key] = NEEDED
        return payload

    def _whole_payload(self) -> object:
        payload = self._read("payload", read_object)
        return {} if payload is None else payload

    def _moment(self) -> dict[str, object]:
        moment = self._read("scheduled_for", lambda text: read_moment(text, self.typed.get("zone", "")))
        return {} if moment is None else {"scheduled_for": moment}

    def _dedupe(self) -> dict[str, object]:
        mode = self.typed.get("dedupe")
        return {"dedupe": {"mode": mode}} if mode and self.typed.get("dedupe_key") else {}

    def _read(self, name: str, read: Callable[[str], Any]) -> Any:
        return read_field(self.typed, name, read, self.problems)


def as_typed(payload: Mapping[str, object]) -> str:
    """Write a payload as somebody would type it."""
    return json.dumps(payload, ensure_ascii=False, indent=2)
