"""Whether what one type describes can be the payload of a handler: the rule behind references by shape."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["OBJECTS", "fits"]

OBJECTS = (
    msgspec.inspect.StructType,
    msgspec.inspect.DataclassType,
    msgspec.inspect.TypedDictType,
)
INT_IS_A_FLOAT = (msgspec.inspect.IntType, msgspec.inspect.FloatType)
Fields = dict[str, msgspec.inspect.Field]


def fits(offered: Any, wanted: Any) -> bool:
    """True if every payload of the offered type is one of the wanted type, field by field.

    A field that is required must be offered for sure; one that is not known is refused where the wanted type
    forbids it; types must be the same, or wider on the wanted side (a union, a float for an int, Any).
    """
    ours, theirs = msgspec.inspect.type_info(offered), msgspec.inspect.type_info(wanted)
    if not isinstance(ours, OBJECTS) or not isinstance(theirs, OBJECTS):
        return ours == theirs
    has, takes = _fields(ours), _fields(theirs)
    return (
        all(name in has and has[name].required for name, field in takes.items() if field.required)
        and (not _forbids_more(theirs) or has.keys() <= takes.keys())
        and all(_is_taken(has[name].type, takes[name].type) for name in has.keys() & takes.keys())
    )


def _fields(shape: Any) -> Fields:
    return {field.encode_name: field for field in shape.fields}


def _forbids_more(shape: Any) -> bool:
    return isinstance(shape, msgspec.inspect.StructType) and shape.forbid_unknown_fields


def _is_taken(ours: msgspec.inspect.Type, theirs: msgspec.inspect.Type) -> bool:
    return all(any(_is_same(mine, yours) for yours in _members(theirs)) for mine in _members(ours))


def _members(known: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, ...]:
    return known.types if isinstance(known, msgspec.inspect.UnionType) else (known,)


def _is_same(mine: msgspec.inspect.Type, yours: msgspec.inspect.Type) -> bool:
    return isinstance(yours, msgspec.inspect.AnyType) or mine == yours or (type(mine), type(yours)) == INT_IS_A_FLOAT
