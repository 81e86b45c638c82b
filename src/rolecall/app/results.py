"""A handler's return annotation as the schema of its result: read once at definition, checked at each outcome.

    async def bill(customer: int) -> Invoice | Snooze      promises an Invoice
    def index(items: list[Product]) -> list[int | Cancel]  in batches, each task's result is an int

No annotation, `None`, `object` and `Any` promise nothing. What a handler returns instead of a result (a Snooze,
a Cancel, an exception in a batch) is no part of the schema.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rolecall.model.errors import ContractBroken, InvalidDeclaration
from rolecall.model.outcomes import NoResult

__all__ = [
    "check_result",
    "read_result",
    "schema_of",
]

ANYTHING = (object, Any)
UNIONS = (typing.Union, types.UnionType)
LISTS = (list, Sequence)
UNKNOWN = re.compile(r"type (?:<class '(?P<name>[^']+)'>|(?P<other>.+)) is not supported")
KNOWN = "a dataclass, a TypedDict, a NamedTuple, a msgspec.Struct, an enum, plain types such as dict[str, int], or Any"


def read_result(function: Callable[..., object], *, handler: str, batch: bool) -> Any | None:
    """Return the type that each task's result must fit, None if any may; raise InvalidDeclaration."""
    annotation = inspect.signature(function).return_annotation
    if annotation is inspect.Signature.empty:
        return None
    try:
        hint = _evaluated(function, annotation)
        promised = _promised(_item(hint) if batch else hint)
        if promised is not None:
            schema_of(promised)
    except (TypeError, NameError, AttributeError) as error:
        written = f"`-> {inspect.formatannotation(annotation)}` is no schema of a result (`-> object` promises nothing)"
        raise InvalidDeclaration(f"handler {handler!r}: {written}: {error}") from error
    return dict if _is_plain(promised) else promised


def check_result(value: object, promised: Any, *, handler: str) -> None:
    """Raise ContractBroken (invalid_output) where a result does not fit the type that was promised."""
    if promised is dict and isinstance(value, dict):
        return
    try:
        msgspec.convert(value, promised)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        problem = str(error)
        raise ContractBroken(
            f"result of {handler!r}: {problem}", code="invalid_output", handler=handler, details={"problem": problem}
        ) from error


def _evaluated(function: Callable[..., object], annotation: object) -> Any:
    written = types.SimpleNamespace(__annotations__={"return": annotation})
    hints = typing.get_type_hints(written, getattr(function, "__globals__", {}), include_extras=True)
    return _loosened(hints["return"])


def _loosened(hint: Any) -> Any:
    """Read `object` within a type, as in `dict[str, object]`, as anything: msgspec knows no such schema."""
    if hint is object:
        return Any
    if isinstance(hint, types.GenericAlias):
        return types.GenericAlias(typing.get_origin(hint), tuple(map(_loosened, typing.get_args(hint))))
    if typing.get_origin(hint) in UNIONS:
        return typing.Union[tuple(map(_loosened, typing.get_args(hint)))]  # noqa: UP007 - built from what was written
    return hint


def _item(hint: Any) -> Any:
    """Return what a batch handler promises for one task: the item of its list, or None without a list."""
    members = _members(hint)
    lists = [member for member in members if typing.get_origin(member) in LISTS]
    if len(lists) != 1:
        return None
    (item, *_) = typing.get_args(lists[0])
    return item | None if type(None) in members else item


def _promised(hint: Any) -> Any | None:
    kept = [member for member in _members(hint) if not _is_instead_of_a_result(member)]
    if any(member in ANYTHING for member in kept) or all(member in (None, type(None)) for member in kept):
        return None
    return typing.Union[tuple(kept)]  # noqa: UP007 - built from what was written


def _members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in UNIONS else (hint,)


def _is_instead_of_a_result(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, NoResult | BaseException)


def _is_plain(promised: Any) -> bool:
    """Whether any object fits: nothing inside of it needs to be looked at."""
    known = msgspec.inspect.type_info(promised) if promised is not None else None
    return (
        isinstance(known, msgspec.inspect.DictType)
        and isinstance(known.key_type, msgspec.inspect.StrType | msgspec.inspect.AnyType)
        and isinstance(known.value_type, msgspec.inspect.AnyType)
    )


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
