"""Types as trees of msgspec's nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect as known


def nodes_of(root: known.Type) -> Iterator[known.Type]:
    """Yield a type and all types within it, each once, because types can be recursive."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += _parts(node)


def without_metadata(node: Any) -> Any:
    """Return the type within `Annotated`."""
    return without_metadata(node.type) if isinstance(node, known.Metadata) else node


def _parts(node: Any) -> list[known.Type]:
    match node:
        case known.Metadata():
            return [node.type]
        case known.UnionType():
            return list(node.types)
        case known.DictType():
            return [node.key_type, node.value_type]
        case known.TupleType():
            return list(node.item_types)
        case known.ListType() | known.SetType() | known.FrozenSetType() | known.VarTupleType():
            return [node.item_type]
        case known.StructType() | known.DataclassType() | known.TypedDictType() | known.NamedTupleType():
            return [field.type for field in node.fields]
        case _:
            return []
