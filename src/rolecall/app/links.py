"""A handler's contract: whether it can start a chain, what may continue it, and what its tasks need.

    @app.task(continues=[ship, "refund"])         one of these may continue the chain (an empty list: none)
    @app.task(continues=[Parcel])                 any handler that takes the fields of a Parcel may
    @app.task(entry=False, must_continue=True)    cannot start a chain, and must not end it
    @app.task(then=lambda result: ...)            a rule that derives follow-ups from the result
    @app.task(needs=[price, Stock, ...])          needs one price, then any number of handlers that take a Stock

Wherever a handler is expected, its name or a payload type can be given as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, Protocol

import msgspec

from rolecall.app.signature import ResultType, Signature
from rolecall.model.errors import HandlerMissing, InvalidDeclaration
from rolecall.model.tasks import NewTask

OBJECTS = (
    msgspec.inspect.StructType,
    msgspec.inspect.DataclassType,
    msgspec.inspect.TypedDictType,
)
INT_IS_A_FLOAT = (msgspec.inspect.IntType, msgspec.inspect.FloatType)
Fields = dict[str, msgspec.inspect.Field]


class NamedHandler(Protocol):
    """A handler, as the target of a reference."""

    @property
    def name(self) -> str: ...


# A handler, its name, or a payload type, which stands for all handlers that accept it.
Reference = NamedHandler | str | type[Any]


class ContractHandler(NamedHandler, Protocol):
    """A handler, as far as contracts use it."""

    @property
    def signature(self) -> Signature: ...

    @property
    def returns(self) -> ResultType | None: ...

    @property
    def links(self) -> Links: ...

    @property
    def gather(self) -> object | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The declared needs: one task for each of `fixed`, then any number for `rest`, if it is set."""

    fixed: tuple[str | type[Any], ...]
    rest: str | type[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """A handler's declared contract; None allows anything. References are names and types."""

    entry: bool = True
    continues: tuple[str | type[Any], ...] | None = None
    must_continue: bool = False
    needs: Slots | None = None
    then: Callable[[Any], Iterable[NewTask]] | None = None
    # Whether there are restrictions on enqueuing the handler's tasks.
    bind_its_tasks: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bind_its_tasks", not self.entry or self.needs is not None)


def read_links(
    handler: str,
    *,
    entry: bool,
    continues: Sequence[Reference] | None,
    must_continue: bool,
    needs: Sequence[Reference | EllipsisType] | None,
    then: Callable[[Any], Iterable[NewTask]] | None,
) -> Links:
    """Return the declared contract. Raises InvalidDeclaration if it cannot be fulfilled."""
    if must_continue and continues is not None and not continues:
        raise InvalidDeclaration(
            f"handler {handler!r} must continue its chain, but continues=[] allows no continuation"
        )
    return Links(
        entry=entry,
        continues=None if continues is None else tuple(_normal(handler, each) for each in continues),
        must_continue=must_continue,
        needs=None if needs is None else _slots(handler, needs),
        then=then,
    )


def resolve(
    reference: str | type[Any], registry: Mapping[str, ContractHandler], runnable: frozenset[str], *, by: str
) -> frozenset[str]:
    """Return the names of the referenced handlers. Raises HandlerMissing and InvalidDeclaration if there are none."""
    if isinstance(reference, str):
        if reference not in registry and reference not in runnable:
            raise HandlerMissing(handler=reference, named_by=f"handler {by!r}")
        return frozenset([reference])
    found = frozenset(name for name, each in registry.items() if _fits_signature(reference, each.signature))
    if not found:
        raise InvalidDeclaration(
            f"handler {by!r} refers to {reference.__qualname__}, which no handler of this app takes"
        )
    return found


def _slots(handler: str, needs: Sequence[Reference | EllipsisType]) -> Slots:
    repeats = bool(needs) and needs[-1] is ...
    slots = needs[:-1] if repeats else needs
    named = tuple(_normal(handler, each) for each in slots)
    if not repeats:
        return Slots(fixed=named)
    if not named:
        raise InvalidDeclaration(
            f"handler {handler!r}: `...` in needs repeats the handler before it, but there is none"
        )
    return Slots(fixed=named[:-1], rest=named[-1])


def _normal(handler: str, reference: Reference | EllipsisType) -> str | type[Any]:
    if isinstance(reference, str):
        return reference
    if isinstance(reference, type):
        if isinstance(msgspec.inspect.type_info(reference), OBJECTS):
            return reference
    elif isinstance(name := getattr(reference, "name", None), str):
        return name
    wrong = f"{reference!r} is neither a handler, nor a name, nor a dataclass, Struct or TypedDict"
    raise InvalidDeclaration(f"handler {handler!r}: {wrong}")


def fits(offered: Any, wanted: Any, *, is_strict: bool = False) -> bool:
    """Return whether every payload of the offered type is valid for the wanted type.

    Required fields must always be offered. Unknown fields are not accepted if the wanted type forbids them, or with
    `is_strict`. Field types must be equal, or wider in the wanted type (a union, a float for an int, Any).
    """
    ours, theirs = msgspec.inspect.type_info(offered), msgspec.inspect.type_info(wanted)
    if not isinstance(ours, OBJECTS) or not isinstance(theirs, OBJECTS):
        return ours == theirs
    has, takes = _fields(ours), _fields(theirs)
    return (
        all(name in has and has[name].required for name, field in takes.items() if field.required)
        and (not (is_strict or _forbids_more(theirs)) or has.keys() <= takes.keys())
        and all(_is_taken(has[name].type, takes[name].type) for name in has.keys() & takes.keys())
    )


def _fits_signature(offered: Any, wanted: Signature) -> bool:
    return fits(offered, wanted.shape, is_strict=wanted.strict)


def require_same_payload(first: Signature, gather: Signature) -> None:
    """Raise InvalidDeclaration unless the gather step accepts every payload of the first step."""
    takes = f"its gather step takes {gather.as_text}, the handler itself {first.as_text}"
    if gather.takes_anything:
        return
    if not _fits_signature(first.shape, gather):
        raise InvalidDeclaration(
            f"handler {first.handler!r}: {takes}: both steps get the same payload, so declare the same parameters"
        )
    for name in first.fields.keys() & gather.fields.keys():
        one, other = first.fields[name], gather.fields[name]
        if "default" in one and "default" in other and one["default"] != other["default"]:
            raise InvalidDeclaration(f"handler {first.handler!r}: {takes}: {name} has different defaults")


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
