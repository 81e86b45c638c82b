"""Rejects unknown fields at any depth. msgspec does so only for Structs that are declared that way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import inspect as known

from rolecall.app.nodes import nodes_of

OBJECTS = known.StructType | known.DataclassType | known.TypedDictType


class KnownFields:
    """The objects within a type whose unknown fields msgspec would drop. False if there are none.

    Pydantic models and types with a codec decide themselves.
    """

    __slots__ = ("_fields", "_root", "_visited")

    def __init__(self, root: known.Type) -> None:
        nodes = list(nodes_of(root))
        self._root = root
        self._fields = {
            id(node): {field.encode_name: field.type for field in node.fields}
            for node in nodes
            if isinstance(node, OBJECTS)
        }
        lenient = {id(node) for node in nodes if isinstance(node, OBJECTS) and not _is_strict(node)}
        # Parts without such objects are skipped, because they can be large.
        self._visited = {id(node) for node in nodes if any(id(part) in lenient for part in nodes_of(node))}

    def __bool__(self) -> bool:
        return bool(self._visited)

    def require(self, plain: object) -> None:
        """Raise msgspec.ValidationError for the first unknown field of a value as JSON values."""
        self._visit(plain, self._root, "$")

    def _visit(self, value: Any, node: Any, place: str) -> None:
        if id(node) not in self._visited:
            return
        match node, value:
            case known.Metadata(), _:
                self._visit(value, node.type, place)
            case known.UnionType(), _:
                for member in node.types:
                    self._visit(value, member, place)
            case known.StructType() | known.DataclassType() | known.TypedDictType(), dict():
                self._visit_fields(value, node, place)
            case known.DictType(), dict():
                self._visit_all(value.values(), node.value_type, place)
            case known.ListType() | known.SetType() | known.FrozenSetType() | known.VarTupleType(), list():
                self._visit_all(value, node.item_type, place)
            case known.TupleType(), list():
                self._visit_each(value, node.item_types, place)
            case known.NamedTupleType(), list():
                self._visit_each(value, [field.type for field in node.fields], place)

    def _visit_all(self, values: Iterable[Any], node: known.Type, place: str) -> None:
        for item in values:
            self._visit(item, node, f"{place}[...]")

    def _visit_each(self, values: list[Any], nodes: Sequence[known.Type], place: str) -> None:
        for number, (item, node) in enumerate(zip(values, nodes, strict=False)):
            self._visit(item, node, f"{place}[{number}]")

    def _visit_fields(self, value: dict[str, Any], node: Any, place: str) -> None:
        tag_field = getattr(node, "tag_field", None)
        if tag_field is not None and value.get(tag_field) != node.tag:
            return  # another member of a union
        types = self._fields[id(node)]
        for name, item in value.items():
            if name in types:
                self._visit(item, types[name], f"{place}.{name}")
            elif name != tag_field:
                raise msgspec.ValidationError(f"Object contains unknown field `{name}` - at `{place}`")


def _is_strict(node: Any) -> bool:
    return bool(getattr(node, "forbid_unknown_fields", False))
