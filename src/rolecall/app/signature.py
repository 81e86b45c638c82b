"""A handler's signature as the schemas of its payload and of its result: read once at definition, used for every task.

    async def fetch(ctx: Context, store: int, full: bool = False)   takes   {"store": 7}
    def index(items: list[Product])   in batches, each task gives   {"id": 1, "name": "tea"}
    async def echo(ctx: Context, /, **payload: Any)   takes whatever it is sent
    async def bill(customer: int) -> Invoice | Snooze      promises an Invoice
    def index(items: list[Product]) -> list[int | Cancel]  in batches, each task's result is an int

A leading `ctx` (or a first parameter annotated `Context`) comes from the worker, not from the payload. No return
annotation, `None`, `object` and `Any` promise nothing. What a handler returns instead of a result (a Snooze, a Cancel,
an exception in a batch) is no part of the schema.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec

from rolecall.app.schemas import schema_of, told
from rolecall.model.codecs import codec_for, read, revealed
from rolecall.model.errors import ContractBroken, InvalidDeclaration, InvalidPayload
from rolecall.model.outcomes import NoResult
from rolecall.model.redaction import Redaction, hides
from rolecall.sql.statement import prepared

__all__ = ["Signature", "annotation_name", "check_result", "read_signature"]

CONTEXTS = frozenset({"Context", "BatchContext", "ProcessContext"})
OBJECTS = (
    msgspec.inspect.StructType,
    msgspec.inspect.DataclassType,
    msgspec.inspect.TypedDictType,
    msgspec.inspect.DictType,
)
ANYTHING = (object, Any)
UNIONS = (typing.Union, types.UnionType)
LISTS = (list, Sequence)
# What has no name of its own, cannot be given by name.
UNNAMED = {
    inspect.Parameter.VAR_POSITIONAL: "*{} takes no named values: declare each parameter by name",
    inspect.Parameter.POSITIONAL_ONLY: "{} is positional-only: a payload gives its values by name",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The payload that a handler takes: `shape` is a type that msgspec knows, `schema` its JSON schema.

    `arguments` names the parameters that the payload's fields become; None where a payload stays whole, as the item
    of a batch or as all that a handler with `**payload` is given. `result` is the type that each task's result must
    fit; None if any may. One that is not `strict` drops the fields that it does not know.
    """

    handler: str
    takes_context: bool
    arguments: tuple[str, ...] | None
    shape: Any
    schema: dict[str, Any]
    decoder: msgspec.json.Decoder[Any]
    result: Any | None
    strict: bool
    hides_values: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hides_values", hides(self.schema))

    @property
    def result_schema(self) -> dict[str, Any] | None:
        """The JSON schema of the result; None if any may be."""
        return None if self.result is None else schema_of(self.result)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The JSON schemas of the payload's fields, by name; none for one that has no fixed fields."""
        return _fields(self.schema)

    @property
    def intake(self) -> str:
        """A short text that is the same wherever the same payloads are taken."""
        said = json.dumps([self.handler, self.schema, self.strict], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def decode(self, payload_json: str | bytes) -> Any:
        """Return the keyword arguments (or the batch's item) of a payload; raise InvalidPayload."""
        try:
            value = self.decoder.decode(payload_json)
        except (msgspec.DecodeError, UnicodeError) as error:
            problem = told(error, self.schema)
            raise InvalidPayload(problem, handler=self.handler, stored=True) from _cause(error, problem)
        if self.arguments is None:
            return value
        return {name: given for name in self.arguments if (given := getattr(value, name)) is not msgspec.UNSET}

    def named(self, args: tuple[object, ...], payload: Mapping[str, object]) -> Mapping[str, object]:
        """Name values that are given in the order of the parameters; raise TypeError as a call does."""
        if not args:
            return payload
        if self.arguments is None:
            raise TypeError(f"the payload of {self.handler!r} has no order: give its fields by name")
        if len(args) > len(self.arguments):
            raise TypeError(f"{self.handler!r} takes {len(self.arguments)} values, not {len(args)}")
        in_order = dict(zip(self.arguments, args, strict=False))
        if twice := in_order.keys() & payload.keys():
            raise TypeError(f"{self.handler!r} is given {min(twice)!r} twice")
        return {**in_order, **payload}

    def check(self, payload: Mapping[str, object]) -> dict[str, object]:
        """Return the payload as plain JSON values; raise InvalidPayload where it does not fit."""
        try:
            plain = msgspec.to_builtins(dict(payload), str_keys=True, enc_hook=revealed)
            msgspec.convert(plain, self.shape, str_keys=True, dec_hook=read)
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
            problem = told(error, self.schema)
            raise InvalidPayload(problem, handler=self.handler) from _cause(error, problem)
        return typing.cast("dict[str, object]", plain)


def _cause(error: Exception, problem: str) -> Exception | None:
    """What is not told of an error stands in no traceback either."""
    return error if problem == str(error) else None


def read_signature(function: Callable[..., object], *, handler: str, batch: bool, strict: bool = True) -> Signature:
    """Read a function's signature, which drops unknown fields unless it is `strict`.

    Raises InvalidDeclaration, naming the parameter that has no schema.
    """
    inner = inspect.unwrap(function)
    if not inspect.isfunction(inner):
        raise InvalidDeclaration(f"handler {handler!r} is a {type(inner).__name__}, not a function")
    parameters = list(inspect.signature(inner).parameters.values())
    context = parameters.pop(0) if parameters and _is_context(parameters[0]) else None
    try:
        hints = _hints(inner, parameters)
        for name, hint in hints.items():
            _require_schema(name, hint)
        takes_all = not batch and _takes_all(context, parameters)
        if takes_all:
            shape: Any = dict[str, hints[parameters[0].name]]  # type: ignore[misc]  # a type that was read
        elif batch:
            shape = _item_shape(parameters, hints)
        else:
            shape = _argument_shape(handler, parameters, hints, strict=strict)
        return Signature(
            handler=handler,
            takes_context=context is not None,
            arguments=None if batch or takes_all else tuple(parameter.name for parameter in parameters),
            shape=shape,
            schema=_with_defaults(schema_of(shape), parameters),
            decoder=msgspec.json.Decoder(shape, dec_hook=read),
            result=read_result(inner, handler=handler, batch=batch),
            strict=strict,
        )
    except (TypeError, NameError, AttributeError) as error:
        raise InvalidDeclaration(f"handler {handler!r}: {error}") from error


def annotation_name(parameter: inspect.Parameter) -> str:
    """Return the last word of how a parameter is annotated; it may be importable for type checkers only."""
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return str(name).strip("\"'").rpartition(".")[2]


def _is_context(parameter: inspect.Parameter) -> bool:
    return parameter.name == "ctx" or annotation_name(parameter) in CONTEXTS


def _hints(function: Callable[..., object], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    written = {}
    for parameter in parameters:
        if parameter.kind in UNNAMED:
            raise TypeError(UNNAMED[parameter.kind].format(parameter.name))
        if parameter.annotation is not inspect.Parameter.empty:
            written[parameter.name] = parameter.annotation
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            written[parameter.name] = Any
        else:
            raise TypeError(f"parameter {parameter.name} has no type annotation")
    # Only these annotations are evaluated: that of the context may be importable for type checkers alone.
    hints = typing.get_type_hints(
        SimpleNamespace(__annotations__=written),
        globalns=getattr(function, "__globals__", {}),
        include_extras=True,
    )
    rest = {each.name: _loosened(hints[each.name]) for each in parameters if each.kind is each.VAR_KEYWORD}
    return hints | rest


def _takes_all(context: inspect.Parameter | None, parameters: list[inspect.Parameter]) -> bool:
    """Whether a handler is given its payloads whole, as `**payload`; raise TypeError where one could not be given."""
    last = parameters[-1] if parameters else None
    if last is None or last.kind is not last.VAR_KEYWORD:
        return False
    if len(parameters) > 1:
        raise TypeError(f"**{last.name} takes the whole payload: declare each parameter by name, or nothing beside it")
    if context is not None and context.kind is not context.POSITIONAL_ONLY:
        raise TypeError(
            f"write ({context.name}, /, **{last.name}), with the slash: a payload may have a field {context.name}"
        )
    return True


def _require_schema(name: str, hint: Any) -> None:
    try:
        schema_of(hint)
    except TypeError as error:
        raise TypeError(f"parameter {name}: {error}") from error


def _argument_shape(handler: str, parameters: list[inspect.Parameter], hints: dict[str, Any], *, strict: bool) -> Any:
    # A default stays with the function, which knows it best: what the payload leaves out is not passed on.
    fields: list[Any] = [
        (parameter.name, hints[parameter.name])
        if parameter.default is inspect.Parameter.empty
        else (parameter.name, hints[parameter.name] | msgspec.UnsetType, msgspec.UNSET)
        for parameter in parameters
    ]
    return msgspec.defstruct(handler, fields, forbid_unknown_fields=strict, kw_only=True)


def _with_defaults(schema: dict[str, Any], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """Say in the schema which values the function itself takes for what a payload leaves out, where JSON has them."""
    # A batch's parameter is no field of its payloads; their fields bring their defaults along.
    fields, redaction = _fields(schema), Redaction(schema)
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty or parameter.name not in fields:
            continue
        if not redaction.hides_in(fields[parameter.name]):
            with suppress(TypeError, ValueError, RecursionError):
                fields[parameter.name]["default"] = msgspec.to_builtins(parameter.default, str_keys=True)
    return schema


def _fields(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    found: dict[str, Any] = schema.get("$defs", {}).get(name, schema).get("properties", {})
    return found


def _item_shape(parameters: list[inspect.Parameter], hints: dict[str, Any]) -> Any:
    if len(parameters) != 1:
        raise TypeError("a batch handler takes one parameter besides the context: items: list[Item]")
    hint = hints[parameters[0].name]
    if typing.get_origin(hint) is not list:
        raise TypeError(f"{parameters[0].name} of a batch handler must be a list[Item], not {hint}")
    (item,) = typing.get_args(hint)
    if not isinstance(msgspec.inspect.type_info(item), OBJECTS) and codec_for(item) is None:
        raise TypeError(f"the items of a batch must be dataclasses, Structs, TypedDicts or models, not {item}")
    return item


__all__ = [
    "check_result",
    "read_result",
]


def read_result(function: Callable[..., object], *, handler: str, batch: bool) -> Any | None:
    """Return the type that each task's result must fit, None if any may; raise InvalidDeclaration."""
    annotation = inspect.signature(function).return_annotation
    if annotation is inspect.Signature.empty:
        return None
    try:
        hint = _evaluated(function, annotation)
        promised = _promised(_item(hint) if batch else hint)
        if promised is not None:
            schema_of(prepared(promised))
    except (TypeError, NameError, AttributeError) as error:
        written = f"`-> {inspect.formatannotation(annotation)}` is no schema of a result (`-> object` promises nothing)"
        raise InvalidDeclaration(f"handler {handler!r}: {written}: {error}") from error
    return dict if _is_plain(promised) else promised


def check_result(value: object, promised: Any, *, handler: str) -> None:
    """Raise ContractBroken (invalid_output) where a result does not fit the type that was promised."""
    if promised is dict and isinstance(value, dict):
        return
    try:
        msgspec.convert(value, promised, dec_hook=read)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        problem = told(error, schema_of(promised))
        raise ContractBroken(
            f"result of {handler!r}: {problem}", code="invalid_output", handler=handler, details={"problem": problem}
        ) from _cause(error, problem)


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
