"""The form that creates a task: derives its fields from the handler's JSON schema, and converts typed text to a
request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from rolecall.model.errors import InvalidPayload, InvalidTask, RolecallError
from rolecall.model.redaction import Redaction
from rolecall.model.tasks import Task
from rolecall.web.dashboard.forms.values import (
    read_field,
    read_integer,
    read_json,
    read_moment,
    read_number,
    read_object,
    read_seconds,
)
from rolecall.web.fields.new_tasks import TaskRequest

READERS: Mapping[str, Callable[[str], object]] = {
    "text": str,
    "integer": read_integer,
    "number": read_number,
    "choice": read_json,
    "json": read_json,
}
# The options of a task besides its payload, as the API names them, and how their text is parsed.
OPTIONS: Mapping[str, Callable[[str], object]] = {
    "priority": read_integer,
    "after": read_seconds,
    "key": str,
    "dedupe_key": str,
    "max_attempts": read_integer,
    "timeout": read_seconds,
    "expires": read_seconds,
}
NEEDED = "this is required"
PLACE = re.compile(r"\$\.(\w+)")
LACKING = re.compile(r"field `(\w+)`$")
KINDS: Mapping[str, FieldKind] = {"string": "text", "integer": "integer", "number": "number"}
EXAMPLES: Mapping[str, object] = {"text": "", "integer": 0, "number": 0.0}
NULL = {"type": "null"}
BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "length at least {}",
    "maxLength": "length at most {}",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "pattern": "like {}",
    "format": "as {}",
}
LONGEST_SHAPE, LONGEST_LINE = 600, 60


class NotReadable(Exception):
    """The typed text is invalid. The form contains the problems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskForm:
    """The typed text and the problem of each field. The problem `""` applies to the whole form.

    Without `fields`, the payload is typed as JSON.
    """

    fields: tuple[PayloadField, ...] | None
    typed: Mapping[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def request(self, handler: str) -> TaskRequest:
        """Return the request. Raises NotReadable for invalid text. The payload is not validated here."""
        payload = self._whole_payload() if self.fields is None else self._payload(self.fields)
        values = {name: value for name, read in OPTIONS.items() if (value := self._read(name, read)) is not None}
        values |= self._moment() | self._dedupe()
        if self.problems:
            raise NotReadable
        try:
            return TaskRequest.model_validate({"handler": handler, "payload": payload, **values})
        except ValidationError as error:
            for each in error.errors():
                self.problems[str(each["loc"][0])] = str(each["msg"])
            raise NotReadable from error

    def blame(self, error: RolecallError) -> None:
        """Assign an error of the service to the field that it concerns."""
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
        """True if any option was typed or has a problem."""
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


def typed_like(task: Task, signature: Schema | None) -> dict[str, str]:
    """Return the texts of a form for a task like another one. Hidden values are left empty."""
    fields = payload_fields(signature) or ()
    texts = {"payload": to_texts(task.payload)}
    for each in fields:
        if each.name in task.payload and not each.secret:
            value = task.payload[each.name]
            texts[each.key] = value if each.kind == "text" and isinstance(value, str) else _text(value)
    options = {"priority": task.priority or None, "key": task.key, "dedupe_key": task.dedupe_key}
    options |= {"max_attempts": task.max_attempts, "timeout": None if task.timeout is None else f"{task.timeout:g}"}
    return texts | {name: str(value) for name, value in options.items() if value is not None}


def to_texts(payload: Mapping[str, object]) -> str:
    """Return a payload as text."""
    return json.dumps(payload, ensure_ascii=False, indent=2)


FieldKind = Literal["text", "integer", "number", "choice", "json"]
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadField:
    """One field of a payload. `default` and the keys of `choices` are JSON text; the values of `choices` are labels.

    `shape` is an outline of a field of kind json; `bounds` describe its limits. The text of a `secret` field is not
    shown again.
    """

    name: str
    kind: FieldKind
    what: str
    required: bool
    nullable: bool = False
    description: str = ""
    default: str | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[str, ...] = ()
    shape: str = ""
    secret: bool = False

    @property
    def key(self) -> str:
        """The name of the form's field."""
        return f"payload.{self.name}"


def payload_fields(signature: Schema | None) -> tuple[PayloadField, ...] | None:
    """Return the fields of a payload, required ones first; None if its schema has no properties.

    Postgres does not keep the order of the properties, but it keeps that of the list of required ones.
    """
    shape = _resolve(signature or {}, signature or {})
    if not isinstance(shape.get("properties"), Mapping):
        return None
    properties, required = (
        shape["properties"],
        [name for name in shape.get("required", ()) if name in shape["properties"]],
    )
    names = dict.fromkeys([*required, *properties])
    return tuple(_field(name, properties[name], signature or {}, name in required) for name in names)


def skeleton(fields: tuple[PayloadField, ...] | None) -> dict[str, object]:
    """Return an initial payload: an example value for each required field."""
    return {each.name: _example(each) for each in fields or () if each.required}


def _field(name: str, part: Schema, whole: Schema, required: bool) -> PayloadField:  # noqa: FBT001 - a field's own word
    inner, nullable = _without_null(_resolve(part, whole), whole)
    choices = _choices(inner)
    kind: FieldKind = "choice" if choices else KINDS.get(str(inner.get("type")), "json")
    return PayloadField(
        name=name,
        kind=kind,
        what=_type_name(inner, whole),
        required=required,
        nullable=nullable,
        description=str(part.get("description") or inner.get("description") or ""),
        default=_text(part["default"]) if "default" in part else None,
        choices=choices,
        bounds=tuple(words.format(inner[word]) for word, words in BOUNDS.items() if word in inner),
        shape=_shape(inner, whole) if kind == "json" else "",
        secret=Redaction(whole).hides_in(part),
    )


def _resolve(part: Schema, whole: Schema) -> Schema:
    seen: set[str] = set()
    while "$ref" in part and part["$ref"] not in seen:
        seen.add(part["$ref"])
        part = whole.get("$defs", {}).get(str(part["$ref"]).removeprefix("#/$defs/"), {})
    return part


def _without_null(part: Schema, whole: Schema) -> tuple[Schema, bool]:
    options = part.get("anyOf")
    if not isinstance(options, list):
        return part, part == NULL
    others = [option for option in options if option != NULL]
    if len(others) == 1:
        return _resolve(others[0], whole), len(others) < len(options)
    return part, len(others) < len(options)


def _choices(part: Schema) -> Mapping[str, str]:
    if part.get("type") == "boolean":
        return {"true": "yes", "false": "no"}
    values = part.get("enum", [part["const"]] if "const" in part else ())
    return {_text(value): value if isinstance(value, str) else _text(value) for value in values}


def _type_name(part: Schema, whole: Schema) -> str:
    """Return a short name of the value's type."""
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_type_name(_resolve(option, whole), whole) for option in part["anyOf"]))
    if "enum" in part or "const" in part:
        return "one of these"
    if part.get("type") == "array":
        return (
            f"a list of {_type_name(_resolve(part.get('items') or {}, whole), whole)}"
            if part.get("items")
            else "a list"
        )
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "yes or no", "null": "nothing"}
    return words.get(str(part.get("type")), str(part.get("title") or "an object") if "type" in part else "anything")


def _shape(part: Schema, whole: Schema) -> str:
    """Return an outline of the value: JSON with type names as values."""
    sketch = _sketch(part, whole, 3)
    short = _text(sketch)
    text = short if len(short) <= LONGEST_LINE else json.dumps(sketch, ensure_ascii=False, indent=1)
    return text if isinstance(sketch, dict | list) and len(text) <= LONGEST_SHAPE else ""


def _sketch(part: Schema, whole: Schema, levels: int) -> object:
    inner, _ = _without_null(_resolve(part, whole), whole)
    if levels and inner.get("type") == "array" and inner.get("items"):
        return [_sketch(inner["items"], whole, levels - 1)]
    if levels and isinstance(inner.get("properties"), Mapping):
        return {name: _sketch(each, whole, levels - 1) for name, each in inner["properties"].items()}
    if levels and isinstance(inner.get("additionalProperties"), Mapping):
        return {"…": _sketch(inner["additionalProperties"], whole, levels - 1)}
    return _type_name(inner, whole)


def _example(field: PayloadField) -> object:
    if field.choices:
        return json.loads(next(iter(field.choices)))
    return EXAMPLES.get(field.kind, [] if field.what.startswith("a list") else {})


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
