"""The JSON schema of a type that a handler takes or returns."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rolecall.model.codecs import codec_for

__all__ = ["schema_of"]

UNKNOWN = re.compile(r"type (?:<class '(?P<name>[^']+)'>|(?P<other>.+)) is not supported")
KNOWN = (
    "a dataclass, a TypedDict, a NamedTuple, a msgspec.Struct, a pydantic model, an enum, plain types such as "
    "dict[str, int], a type with a codec (rolecall.register_codec), or Any"
)


def schema_of(shape: Any) -> dict[str, Any]:
    """Return the schema; raise TypeError where there is none."""
    try:
        return _with_definitions(msgspec.json.schema(shape, schema_hook=_schema_of_codec))
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
    return dict(codec.schema())


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
