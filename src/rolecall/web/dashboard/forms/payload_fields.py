"""The fields of a payload, as the JSON schema of a handler names them: what a form asks for, and how."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["FieldKind", "PayloadField", "payload_fields", "skeleton"]

FieldKind = Literal["text", "integer", "number", "choice", "json"]
Schema = Mapping[str, Any]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadField:
    """One field of a payload; `default` is JSON text or None, `choices` has words for JSON text.

    `shape` shows what a field of kind json is made of; `bounds` are sentences for people.
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

    @property
    def key(self) -> str:
        """What the form calls it."""
        return f"payload.{self.name}"


def payload_fields(signature: Schema | None) -> tuple[PayloadField, ...] | None:
    """Return the fields of a payload, those that are needed first; None where its schema names none.

    A stored schema has lost the order of its names: those that are needed stand there in a list, too, which has not.
    """
    shape = _resolved(signature or {}, signature or {})
    if not isinstance(shape.get("properties"), Mapping):
        return None
    properties, required = (
        shape["properties"],
        [name for name in shape.get("required", ()) if name in shape["properties"]],
    )
    names = dict.fromkeys([*required, *properties])
    return tuple(_field(name, properties[name], signature or {}, name in required) for name in names)


def skeleton(fields: tuple[PayloadField, ...] | None) -> dict[str, object]:
    """Return a payload to begin with: a value of the right kind for each field that is needed."""
    return {each.name: _example(each) for each in fields or () if each.required}


def _field(name: str, part: Schema, whole: Schema, required: bool) -> PayloadField:  # noqa: FBT001 - a field's own word
    inner, nullable = _without_null(_resolved(part, whole), whole)
    choices = _choices(inner)
    kind: FieldKind = "choice" if choices else KINDS.get(str(inner.get("type")), "json")
    return PayloadField(
        name=name,
        kind=kind,
        what=_what(inner, whole),
        required=required,
        nullable=nullable,
        description=str(part.get("description") or inner.get("description") or ""),
        default=_text(part["default"]) if "default" in part else None,
        choices=choices,
        bounds=tuple(words.format(inner[word]) for word, words in BOUNDS.items() if word in inner),
        shape=_shape(inner, whole) if kind == "json" else "",
    )


def _resolved(part: Schema, whole: Schema) -> Schema:
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
        return _resolved(others[0], whole), len(others) < len(options)
    return part, len(others) < len(options)


def _choices(part: Schema) -> Mapping[str, str]:
    if part.get("type") == "boolean":
        return {"true": "yes", "false": "no"}
    values = part.get("enum", [part["const"]] if "const" in part else ())
    return {_text(value): value if isinstance(value, str) else _text(value) for value in values}


def _what(part: Schema, whole: Schema) -> str:
    """Name what a value is, in a word or two."""
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_what(_resolved(option, whole), whole) for option in part["anyOf"]))
    if "enum" in part or "const" in part:
        return "one of these"
    if part.get("type") == "array":
        return f"a list of {_what(_resolved(part.get('items') or {}, whole), whole)}" if part.get("items") else "a list"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "yes or no", "null": "nothing"}
    return words.get(str(part.get("type")), str(part.get("title") or "an object") if "type" in part else "anything")


def _shape(part: Schema, whole: Schema) -> str:
    """Show what a value is made of, as JSON with words in place of values."""
    sketch = _sketch(part, whole, 3)
    short = _text(sketch)
    text = short if len(short) <= LONGEST_LINE else json.dumps(sketch, ensure_ascii=False, indent=1)
    return text if isinstance(sketch, dict | list) and len(text) <= LONGEST_SHAPE else ""


def _sketch(part: Schema, whole: Schema, levels: int) -> object:
    inner, _ = _without_null(_resolved(part, whole), whole)
    if levels and inner.get("type") == "array" and inner.get("items"):
        return [_sketch(inner["items"], whole, levels - 1)]
    if levels and isinstance(inner.get("properties"), Mapping):
        return {name: _sketch(each, whole, levels - 1) for name, each in inner["properties"].items()}
    if levels and isinstance(inner.get("additionalProperties"), Mapping):
        return {"…": _sketch(inner["additionalProperties"], whole, levels - 1)}
    return _what(inner, whole)


def _example(asked: PayloadField) -> object:
    if asked.choices:
        return json.loads(next(iter(asked.choices)))
    return EXAMPLES.get(asked.kind, [] if asked.what.startswith("a list") else {})


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
