"""The parts of a declared type: whether JSON can represent it, and values of subclasses as the declared type.

Type checkers accept a subclass where its base class is declared, but JSON has no subclasses. Such a value is
written as the declared type: only the fields of the declared class, the date of a datetime, 1 for True.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Flag
from typing import Any, get_origin

import msgspec
from msgspec import inspect as known

from rolecall.app.nodes import nodes_of, without_metadata

CLASSES = known.StructType | known.DataclassType | known.CustomType
ROWS = (list, tuple, set, frozenset)
TEXTS = (
    known.UUIDType,
    known.DateType,
    known.DateTimeType,
    known.TimeType,
    known.TimeDeltaType,
    known.DecimalType,
    known.BytesType,
)
NUMBERS = (known.IntType, known.FloatType)
KEYS = (known.StrType, *TEXTS, *NUMBERS, known.EnumType, known.LiteralType, known.AnyType, known.CustomType)
UNKNOWN = (known.AnyType, known.CustomType, known.RawType)


def require_storable(shape: Any) -> None:
    """Raise TypeError for a type with dictionary keys that JSON cannot represent, or cannot distinguish."""
    for node in nodes_of(known.type_info(shape)):
        if isinstance(node, known.DictType) and (problem := _key_problem(node.key_type)) is not None:
            raise TypeError(
                f"a dictionary's keys are text in JSON, and {problem}: use str, int, float, UUID, a date or an enum"
            )


def flags_in(shape: Any) -> list[type[Flag]]:
    """Return the flag types within a type."""
    nodes = nodes_of(known.type_info(shape))
    return [node.cls for node in nodes if isinstance(node, known.EnumType) and issubclass(node.cls, Flag)]


def has_plain_keys(node: known.Type) -> bool:
    """Return whether its keys are text, or it has none, so that no two keys can become the same text."""
    if isinstance(node, known.DictType):
        return isinstance(without_metadata(node.key_type), known.StrType)
    return not isinstance(node, UNKNOWN)


def is_unset(node: known.Type) -> bool:
    """Return whether it is the type of an omitted field."""
    return isinstance(node, known.CustomType) and node.cls is msgspec.UnsetType


def _key_problem(key: known.Type) -> str | None:
    node = without_metadata(key)
    members = [without_metadata(each) for each in node.types] if isinstance(node, known.UnionType) else [node]
    if wrong := next((each for each in members if not isinstance(each, KEYS)), None):
        return f"{_name(wrong)} is not allowed"
    if len(members) > 1 and any(isinstance(each, known.StrType | known.AnyType) for each in members):
        return f"keys of {' or '.join(map(_name, members))} are ambiguous"
    values = [each.value for member in members if isinstance(member, known.EnumType) for each in member.cls]
    values += [value for member in members if isinstance(member, known.LiteralType) for value in member.values]
    if len(set(map(str, values))) < len(set(values)):
        return "two of these have the same text form"
    return None


def _name(node: known.Type) -> str:
    return type(node).__name__.removesuffix("Type").lower().replace("none", "None")


def narrow_value(value: Any, node: Any) -> Any:
    """Return a value with parts of subclasses converted to the declared types; the same value if there are none."""
    narrow = NARROW.get(type(node))
    return value if narrow is None else narrow(value, node)


def _as_int(value: Any, _node: Any) -> Any:
    return int(value) if type(value) is bool else value


def _as_date(value: Any, _node: Any) -> Any:
    return date(value.year, value.month, value.day) if isinstance(value, datetime) else value


def _as_list(value: Any, node: Any) -> Any:
    return _narrow_items(value, [node.item_type] * len(value)) if isinstance(value, ROWS) else value


def _as_tuple(value: Any, node: Any) -> Any:
    return _narrow_items(value, list(node.item_types)) if isinstance(value, ROWS) else value


def _as_named_tuple(value: Any, node: Any) -> Any:
    return _narrow_items(value, [field.type for field in node.fields]) if isinstance(value, ROWS) else value


def _as_dict(value: Any, node: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    keys = [narrow_value(key, node.key_type) for key in value]
    items = [narrow_value(item, node.value_type) for item in value.values()]
    if _are_same(keys, value) and _are_same(items, value.values()):
        return value
    return dict(zip(keys, items, strict=True))


def _as_fields(value: Any, node: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    types = {field.encode_name: field.type for field in node.fields}
    items = {name: narrow_value(item, types[name]) if name in types else item for name, item in value.items()}
    return value if _are_same(items.values(), value.values()) else items


def class_of(node: Any) -> Any:
    """Return the class of a type, without the parameters of a generic one."""
    return get_origin(node.cls) or node.cls


def _are_same(new: Any, old: Any) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))


def _narrow_items(value: Any, nodes: list[Any]) -> Any:
    if len(nodes) != len(value):
        return value  # not a value of the type: rejected later
    items = [narrow_value(item, node) for item, node in zip(value, nodes, strict=True)]
    return value if _are_same(items, value) else items


def _as_class(value: Any, node: Any) -> Any:
    kind = class_of(node)
    if not isinstance(value, kind):
        return _as_fields(value, node)
    fields = {field.name: getattr(value, field.name, msgspec.UNSET) for field in node.fields}
    parts = {field.name: narrow_value(fields[field.name], field.type) for field in node.fields}
    if type(value) is kind and _are_same(parts.values(), fields.values()):
        return value
    if isinstance(node, known.StructType):
        return kind(**parts)
    made = object.__new__(kind)
    for name, part in parts.items():
        object.__setattr__(made, name, part)
    return made


def _as_model(value: Any, node: Any) -> Any:
    """Convert a pydantic model of a subclass to the declared model. Other types are converted by their codecs."""
    kind = class_of(node)
    if type(value) is kind or not isinstance(value, kind) or not hasattr(kind, "model_construct"):
        return value
    return kind.model_construct(**{name: getattr(value, name) for name in kind.model_fields})


def _as_member(value: Any, node: Any) -> Any:
    """Narrow a value to the union member of its exact type, or to the first one that is a base class."""
    members = [without_metadata(each) for each in node.types]
    for member in members:
        if type(value) is PYTHON.get(type(member), getattr(member, "cls", None)):
            return narrow_value(value, member)
    for member in members:
        if (found := narrow_value(value, member)) is not value:
            return found
    return value


PYTHON: Mapping[type[known.Type], type] = {
    known.IntType: int,
    known.BoolType: bool,
    known.DateType: date,
    known.DateTimeType: datetime,
    known.StrType: str,
    known.FloatType: float,
    known.NoneType: type(None),
}

NARROW: Mapping[type[known.Type], Callable[[Any, Any], Any]] = {
    known.Metadata: lambda value, node: narrow_value(value, node.type),
    known.UnionType: _as_member,
    known.IntType: _as_int,
    known.DateType: _as_date,
    known.DictType: _as_dict,
    known.TypedDictType: _as_fields,
    known.StructType: _as_class,
    known.DataclassType: _as_class,
    known.CustomType: _as_model,
    known.NamedTupleType: _as_named_tuple,
    known.TupleType: _as_tuple,
    known.ListType: _as_list,
    known.SetType: _as_list,
    known.FrozenSetType: _as_list,
    known.VarTupleType: _as_list,
}
