"""How values of types that JSON does not know are written and read: pydantic models, and types with a codec.

A type's form in JSON is the type's, in all apps of a process: it is registered once, where the type is defined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache, partial
from typing import Any, Generic, TypeVar

from rolecall.model.errors import InvalidDeclaration

__all__ = ["Codec", "codec_for", "read", "register_codec", "written"]

T = TypeVar("T")
CODECS: dict[type, Codec[Any]] = {}
# What tells a Struct of msgspec, a class of attrs, a model of pydantic, without importing any of them.
OF_ITS_OWN = ("__struct_fields__", "__attrs_attrs__", "__pydantic_validator__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec(Generic[T]):
    """`encode` makes JSON of a value, `decode` a value of that, or raises ValueError; `schema` says its form."""

    encode: Callable[[T], object]
    decode: Callable[[Any], T]
    schema: Callable[[], Mapping[str, Any]]


def register_codec(
    kind: type[T],
    *,
    encode: Callable[[T], object],
    decode: Callable[[Any], T],
    schema: Mapping[str, Any] | None = None,
) -> None:
    """Let values of a type stand in payloads, results and infos; say so where the type is defined.

        register_codec(Money, encode=str, decode=Money.parse, schema={"type": "string"})

    `encode` returns what JSON has (or other values that can be written), `decode` is given that and raises ValueError
    for what is no such value. Subclasses are written alike. Raises InvalidDeclaration for a type that has a codec, and
    for one that is written by its fields: a dataclass, a Struct, an attrs class, an enum, a pydantic model.
    """
    if kind in CODECS:
        raise InvalidDeclaration(f"{kind.__name__} has a codec already")
    if is_dataclass(kind) or issubclass(kind, Enum) or any(hasattr(kind, mark) for mark in OF_ITS_OWN):
        raise InvalidDeclaration(f"{kind.__name__} has a form of its own in JSON: a codec is for types that have none")
    known = dict(schema or {})
    CODECS[kind] = Codec(encode=encode, decode=decode, schema=lambda: known)


def codec_for(kind: Any) -> Codec[Any] | None:
    """Return what writes and reads values of a type; None for a type that nobody has said anything of."""
    if not isinstance(kind, type):
        return None
    for base in kind.__mro__:
        if (codec := CODECS.get(base)) is not None:
            return codec
    return _of_pydantic(kind) if hasattr(kind, "__pydantic_validator__") else None


def written(value: object) -> object:
    """Return a value as something that JSON, or another codec, has; raise TypeError for what nobody can write."""
    codec = codec_for(type(value))
    if codec is not None:
        return codec.encode(value)
    if isinstance(value, str):
        return str(value)  # a kind of text: an idempotency key, say
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def read(kind: Any, value: object) -> object:
    """Return a value of a type, of what JSON has; raise ValueError where it is none, TypeError for an unknown type."""
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    codec = codec_for(kind)
    if codec is None:
        raise TypeError(f"{getattr(kind, '__name__', kind)} has no codec")
    return codec.decode(value)


@cache
def _of_pydantic(model: Any) -> Codec[Any]:
    return Codec(
        encode=partial(model.__pydantic_serializer__.to_python, mode="json"),
        decode=partial(_validated, model),
        schema=partial(_schema_of, model),
    )


def _validated(model: Any, value: object) -> object:
    try:
        # As JSON, since a strict model takes a date as text from there alone.
        return model.__pydantic_validator__.validate_json(json.dumps(value))
    except ValueError as error:
        errors = getattr(error, "errors", None)
        raise ValueError(str(error) if errors is None else _in_one_line(errors(include_url=False))) from None


def _in_one_line(errors: Iterable[Mapping[str, Any]]) -> str:
    """Say where and what is wrong, without the values, which may be nobody's business."""
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}" for each in errors)


def _schema_of(model: Any) -> Mapping[str, Any]:
    template = f"#/$defs/{model.__name__}.{{model}}"
    schema: dict[str, Any] = model.model_json_schema(ref_template=template, mode="validation")
    named = {f"{model.__name__}.{name}": part for name, part in schema.pop("$defs", {}).items()}
    return {**schema, "$defs": named} if named else schema
