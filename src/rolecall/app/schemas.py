"""The JSON schema of a type that a handler takes or returns, and the word for what nobody is to read of it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rolecall.app.shapes import flags_in
from rolecall.model.codecs import DoesNotFit, codec_for
from rolecall.model.redaction import WRITE_ONLY, Redaction, untold

__all__ = ["Redacted", "schema_of", "told"]

# A value of this type is shown to nobody: `token: Annotated[str, Redacted]`.
Redacted = msgspec.Meta(extra_json_schema={WRITE_ONLY: True})
PLACE = re.compile(r" - at `?(?:key` in `)?(?P<place>\$[^`]*)`?$")
UNKNOWN = re.compile(r"type (?:<class '(?P<name>[^']+)'>|(?P<other>.+)) is not supported")
KNOWN = (
    "a dataclass, a TypedDict, a NamedTuple, a msgspec.Struct, a pydantic model, an enum, plain types such as "
    "dict[str, int], a type with a codec (rolecall.register_codec), or Any"
)


def schema_of(shape: Any) -> dict[str, Any]:
    """Return the schema; raise TypeError where there is none. It tells no default of what nobody is to read."""
    try:
        schema = _with_definitions(msgspec.json.schema(shape, schema_hook=_schema_of_codec))
        return _without_hidden_defaults(_with_combined_flags(schema, shape))
    except TypeError as error:
        unknown = UNKNOWN.search(str(error))
        if unknown is None:
            raise
        name = unknown["name"] or unknown["other"]
        raise TypeError(f"{name} has no schema here: use {KNOWN}") from error


def _schema_of_codec(kind: Any) -> dict[str, Any]:
    codec = codec_for(kind)
    if codec is None:
        raise NotImplementedError
    # msgspec takes an empty schema for none.
    return dict(codec.schema()) or {"title": kind.__name__}


def _with_combined_flags(schema: dict[str, Any], shape: Any) -> dict[str, Any]:
    """Let flags be any integer: msgspec names the single ones only, and takes their combinations."""
    single = {kind.__name__: [flag.value for flag in kind] for kind in flags_in(shape)}
    for definition in schema.get("$defs", {}).values():
        if definition.get("title") in single and definition.get("enum") == single[definition["title"]]:
            del definition["enum"]
            definition["type"] = "integer"
    return schema


def _with_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Bring the definitions that parts of a schema have of their own to its top, where references look for them."""
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


def told(error: Exception, schema: dict[str, Any]) -> str:
    """Say why a value does not fit its schema, without anything of what the schema hides.

    What msgspec says has no values but those of enums; what pydantic says was looked through; a codec says what it
    likes.
    """
    redaction = Redaction(schema)
    if not redaction.hides_anything:
        return str(error)
    found = PLACE.search(str(error))
    place = found["place"] if found else "$"
    hidden, hides_some = redaction.hides_place(place)
    told_by_codec = error.__cause__ is not None or not isinstance(error, msgspec.ValidationError)
    if hidden or (hides_some and told_by_codec and not isinstance(error.__cause__, DoesNotFit)):
        return untold(f"`{place}`")
    return str(error)
