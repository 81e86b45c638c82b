"""Encoding of types that JSON lacks: pydantic models, and types with a registered codec.

A codec applies to all apps of a process. Register it once, where the type is defined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache, partial
from operator import methodcaller
from typing import Any, Generic, TypeVar

from rolecall.model.errors import InvalidDeclaration
from rolecall.model.models import schema_of_model
from rolecall.model.redaction import WRITE_ONLY, Redaction

T = TypeVar("T")
CODECS: dict[type, Codec[Any]] = {}
# Instances of subclasses, such as an idempotency key or a numpy number, are written as one of these.
WITH_SUBCLASSES: tuple[type, ...] = (str, int, float)
# Identify msgspec's Structs, attrs classes and pydantic models without importing these libraries.
OF_ITS_OWN = ("__struct_fields__", "__attrs_attrs__", "__pydantic_validator__")


class DoesNotFit(ValueError):
    """A value is not of its type. The message contains no hidden value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec(Generic[T]):
    """How values of a type are converted: `encode` to JSON values, `decode` back (or ValueError); `schema` is their
    schema.

    `reveal` encodes for a handler what `encode` would write as asterisks.
    """

    encode: Callable[[T], object]
    decode: Callable[[Any], T]
    schema: Callable[[], Mapping[str, Any]]
    reveal: Callable[[T], object] | None = None


def register_codec(
    kind: type[T],
    *,
    encode: Callable[[T], object],
    decode: Callable[[Any], T],
    schema: Mapping[str, Any] | None = None,
) -> None:
    """Allow values of a type in payloads, results and infos. Call it where the type is defined.

        register_codec(Money, encode=str, decode=Money.parse, schema={"type": "string"})

    `encode` returns JSON values (or other values that can be encoded). `decode` receives these and raises ValueError
    for invalid ones. Subclasses are encoded the same way. Raises InvalidDeclaration if the type already has a codec
    or is encoded by its fields: dataclasses, Structs, attrs classes, enums and pydantic models.
    """
    if kind in CODECS:
        raise InvalidDeclaration(f"{kind.__name__} already has a codec")
    if is_dataclass(kind) or issubclass(kind, Enum) or any(hasattr(kind, mark) for mark in OF_ITS_OWN):
        raise InvalidDeclaration(f"{kind.__name__} already has a JSON form: codecs are for types without one")
    known = dict(schema or {})
    CODECS[kind] = Codec(encode=encode, decode=decode, schema=lambda: known)


def codec_for(kind: Any) -> Codec[Any] | None:
    """Return the codec of a type; None if it has none."""
    if not isinstance(kind, type):
        return None
    for base in kind.__mro__:
        if (codec := CODECS.get(base)) is not None:
            return codec
    if hasattr(kind, "__pydantic_validator__"):
        return _of_pydantic(kind)
    return _of_secret(kind) if any(base.__name__ == "SecretStr" for base in kind.__mro__) else None


def encode_value(value: object) -> object:
    """Return a value as JSON values, or as a value that another codec can encode. Raises TypeError if there is no
    way.
    """
    codec = codec_for(type(value))
    if codec is not None:
        return codec.encode(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        # Copy the parts, because a subclass may write itself in another form.
        return datetime.combine(date(value.year, value.month, value.day), value.timetz())
    for kind in WITH_SUBCLASSES:
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def encode_revealed(value: object) -> object:
    """Return an encoded value for a handler, with the secrets that pydantic would write as asterisks."""
    codec = codec_for(type(value))
    return encode_value(value) if codec is None or codec.reveal is None else codec.reveal(value)


def decode_value(kind: Any, value: object) -> object:
    """Decode JSON values. Raises ValueError for an invalid value and TypeError for a type without a codec."""
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    codec = codec_for(kind)
    if codec is None:
        raise TypeError(f"{getattr(kind, '__name__', kind)} has no codec")
    return codec.decode(value)


@cache
def _of_pydantic(model: Any) -> Codec[Any]:
    schema = schema_of_model(model)
    redaction = Redaction(schema)
    return Codec(
        encode=partial(model.__pydantic_serializer__.to_python, mode="json"),
        decode=partial(_validate, model, redaction),
        schema=lambda: schema,
        reveal=partial(_with_secrets, model) if redaction.hides_anything else None,
    )


def _of_secret(kind: Any) -> Codec[Any]:
    return Codec(
        encode=str,
        decode=partial(_secret, kind),
        schema=lambda: {"type": "string", "format": "password", WRITE_ONLY: True},
        reveal=methodcaller("get_secret_value"),
    )


def _secret(kind: Any, value: object) -> object:
    if not isinstance(value, str):
        raise DoesNotFit(f"Expected `str`, got `{type(value).__name__}`")
    return kind(value)


def _with_secrets(model: Any, value: object) -> object:
    write = model.__pydantic_serializer__.to_python
    return _restore_secrets(write(value, mode="json"), write(value))


def _restore_secrets(shown: Any, value: Any) -> Any:
    if hasattr(value, "get_secret_value") and isinstance(shown, str) and not shown.strip("*"):
        secret = value.get_secret_value()
        return secret.decode() if isinstance(secret, bytes) else secret
    if isinstance(shown, dict) and isinstance(value, Mapping) and len(shown) == len(value):
        pairs = zip(shown.items(), value.values(), strict=True)
        return {name: _restore_secrets(part, inner) for (name, part), inner in pairs}
    if isinstance(shown, list) and isinstance(value, Collection) and len(shown) == len(value):
        return [_restore_secrets(part, inner) for part, inner in zip(shown, value, strict=True)]
    return shown


def _validate(model: Any, redaction: Redaction, value: object) -> object:
    try:
        # As JSON, because a strict model accepts a date as text only there.
        return model.__pydantic_validator__.validate_json(json.dumps(value))
    except ValueError as error:
        errors = getattr(error, "errors", None)
        if errors is None:
            raise ValueError(str(error)) from None
        raise DoesNotFit(_in_one_line(errors(include_url=False), redaction)) from None


def _in_one_line(errors: Iterable[Mapping[str, Any]], redaction: Redaction) -> str:
    """Join the errors, with their places and without the values, which may be secret."""
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'it'}: {_error_message(each, redaction)}" for each in errors)


def _error_message(error: Mapping[str, Any], redaction: Redaction) -> str:
    """Return the message of an error, or a neutral one if it could contain a hidden value."""
    place = "".join(f"[{step}]" for step in error["loc"])
    hidden, hides_some = redaction.hides_place(f"${place}")
    in_own_words = error["type"] in {"value_error", "assertion_error"}
    return "does not fit" if hidden or (hides_some and in_own_words) else str(error["msg"])
