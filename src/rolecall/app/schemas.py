"""The JSON schema of a type, or a sentence about why there is none that whoever wrote the type can follow."""

from __future__ import annotations

import re
from typing import Any

import msgspec

__all__ = ["schema_of"]

UNKNOWN = re.compile(r"type (?:<class '(?P<name>[^']+)'>|(?P<other>.+)) is not supported")
KNOWN = "a dataclass, a TypedDict, a NamedTuple, a msgspec.Struct, an enum, plain types such as dict[str, int], or Any"


def schema_of(shape: Any) -> dict[str, Any]:
    """Return the schema; raise TypeError where there is none."""
    try:
        return msgspec.json.schema(shape)
    except TypeError as error:
        unknown = UNKNOWN.search(str(error))
        if unknown is None:
            raise
        name = unknown["name"] or unknown["other"]
        raise TypeError(f"{name} has no schema here: use {KNOWN} (pydantic models are not understood)") from error
