"""Checks a payload against the JSON schema that its handler's app stored in the database.

Supports what such schemas contain: types, fields, alternatives and constants. Limits and formats are checked only by
the handler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rolecall.model.redaction import Redaction, hidden_problem

Schema = Mapping[str, Any]

KINDS: Mapping[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def find_mismatch(value: object, schema: Schema) -> str | None:
    """Return what does not fit in a JSON value, and where; None if nothing wrong is found.

    For hidden parts, only the place is returned.
    """
    problem = _Check(schema).problem(value, schema, "$")
    if problem is None:
        return None
    place = problem.rpartition(" - at ")[2]
    return hidden_problem(place) if Redaction(schema).hides_place(place)[0] else problem


class _Check:
    """One check; `whole` contains the definitions that parts of the schema refer to."""

    def __init__(self, whole: Schema) -> None:
        self._definitions: Schema = whole.get("$defs", {})

    def problem(self, value: object, schema: Schema, place: str) -> str | None:
        if "$ref" in schema:
            return self.problem(value, self._definitions.get(schema["$ref"].rpartition("/")[2], {}), place)
        if "anyOf" in schema:
            return self._in_none_of(value, schema["anyOf"], place)
        for known in ("enum", "const"):
            allowed = schema.get(known, [value]) if known == "enum" else [schema.get(known, value)]
            if value not in allowed:
                return f"expected {' or '.join(map(repr, allowed))}, got {value!r} - at {place}"
        kind = schema.get("type")
        if isinstance(kind, str) and not KINDS.get(kind, _accept_anything)(value):
            return _mismatch(kind, value, place)
        if isinstance(value, dict):
            return self._in_object(value, schema, place)
        return self._in_array(value, schema, place) if isinstance(value, list) else None

    def _in_none_of(self, value: object, alternatives: Sequence[Schema], place: str) -> str | None:
        # For a nullable value, the message about the other alternative is the clearest.
        meant = [each for each in alternatives if value is None or each.get("type") != "null"]
        problems = [self.problem(value, each, place) for each in meant]
        if None in problems or not meant:
            return None
        return problems[0] if len(meant) == 1 else _mismatch(" or ".join(map(_name, meant)), value, place)

    def _in_object(self, value: Mapping[str, object], schema: Schema, place: str) -> str | None:
        fields: Schema = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        for name in schema.get("required", ()):
            if name not in value:
                return f"missing required field {name!r} - at {place}"
        for name, inner in value.items():
            if name not in fields and others is False:
                return f"unknown field {name!r} - at {place}"
            part = fields.get(name, others)
            if isinstance(part, Mapping) and (found := self.problem(inner, part, f"{place}.{name}")):
                return found
        return None

    def _in_array(self, value: list[object], schema: Schema, place: str) -> str | None:
        first = schema.get("prefixItems", [])
        for index, inner in enumerate(value):
            part = first[index] if index < len(first) else schema.get("items")
            if isinstance(part, Mapping) and (found := self.problem(inner, part, f"{place}[{index}]")):
                return found
        return None


def _accept_anything(_value: object) -> bool:
    return True


def _name(schema: Schema) -> str:
    return str(schema.get("type") or schema.get("$ref", "one of several").rpartition("/")[2])


def _mismatch(expected: str, value: object, place: str) -> str:
    got = next(name for name, fits in KINDS.items() if fits(value))
    return f"expected {expected}, got {got} - at {place}"
