"""JSON schemas of payload and result types, and the marker of redacted values."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rolecall.app.shapes import flags_in
from rolecall.model.codecs import DoesNotFit, codec_for
from rolecall.model.redaction import WRITE_ONLY, Redaction, hidden_problem

# A value of this type is redacted for all readers: `token: Annotated[str, Redacted]`.
Redacted = msgspec.Meta(extra_json_schema={WRITE_ONLY: True})
PLACE = re.compile(r" - at `?(?:key` in `)?(?P<place>\$[^`]*)`?$")
UNKNOWN = re.compile(r"type (?:<class '(?P<name>[^']+)'>|(?P<other>.+)) is not supported")
KNOWN = (
    "a dataclass, a TypedDict, a NamedTuple, a msgspec.Struct, a pydantic model, an enum, plain types such as "
    "dict[str, int], a type with a codec (rolecall.register_codec), or Any"
)


def schema_of(shape: Any, *, is_strict: bool = False) -> dict[str, Any]:
    """Return the schema of a type, without the defaults of redacted values. Raises TypeError if there is none.

    `is_strict`: objects have no other fields, as `KnownFields` requires.
    """
    try:
        schema = msgspec.json.schema(shape, schema_hook=_schema_of_codec)
        if is_strict and codec_for(shape) is None:
            _close_objects(schema)
        return _without_hidden_defaults(_with_combined_flags(_with_definitions(schema), shape))
    except TypeError as error:
        unknown = UNKNOWN.search(str(error))
        if unknown is None:
            raise
        name = unknown["name"] or unknown["other"]
        raise TypeError(f"{name} has no JSON schema: use {KNOWN}") from error


def _schema_of_codec(kind: Any) -> dict[str, Any]:
    codec = codec_for(kind)
    if codec is None:
        raise NotImplementedError
    # msgspec ignores an empty schema.
    return dict(codec.schema()) or {"title": kind.__name__}


def _close_objects(schema: dict[str, Any]) -> None:
    # Schemas of codecs, whose types accept what they like, are within these definitions.
    for definition in schema.get("$defs", {}).values():
        if "properties" in definition:
            definition["additionalProperties"] = False


def _with_combined_flags(schema: dict[str, Any], shape: Any) -> dict[str, Any]:
    """Declare flags as integers: msgspec's schema has only single flags, but it accepts combinations."""
    single = {kind.__name__: [flag.value for flag in kind] for kind in flags_in(shape)}
    for definition in schema.get("$defs", {}).values():
        if definition.get("title") in single and definition.get("enum") == single[definition["title"]]:
            del definition["enum"]
            definition["type"] = "integer"
    return schema


def _with_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Move nested definitions to the top of the schema, where references look for them."""
    found: dict[str, Any] = {}

    def without(part: Any) -> Any:
        if isinstance(part, list):
            return [without(each) for each in part]
        if not isinstance(part, dict):
            return part
        found.update({name: without(each) for name, each in part.get("$defs", {}).items()})
        return {name: without(each) for name, each in part.items() if name != "$defs"}

    whole: dict[str, Any] = without(schema)
    return {**whole, "$defs": found} if found else whole


def _without_hidden_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    redaction = Redaction(schema)

    def without(part: Any) -> Any:
        if isinstance(part, list):
            return [without(each) for each in part]
        if not isinstance(part, dict):
            return part
        telling = {"default", "examples"} if redaction.hides_in(part) else set()
        return {name: without(each) for name, each in part.items() if name not in telling}

    whole: dict[str, Any] = without(schema) if redaction.hides_anything else schema
    return whole


def describe_mismatch(error: Exception, schema: dict[str, Any]) -> str:
    """Return why a value does not match its schema, without redacted values.

    Messages of msgspec contain no values except those of enums, and those of pydantic were checked. The messages of
    codecs can contain anything.
    """
    redaction = Redaction(schema)
    if not redaction.hides_anything:
        return str(error)
    found = PLACE.search(str(error))
    place = found["place"] if found else "$"
    hidden, hides_some = redaction.hides_place(place)
    is_from_codec = error.__cause__ is not None or not isinstance(error, msgspec.ValidationError)
    if hidden or (hides_some and is_from_codec and not isinstance(error.__cause__, DoesNotFit)):
        return hidden_problem(f"`{place}`")
    return str(error)
