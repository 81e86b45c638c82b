"""A handler's signature as the schema of its payload, read once when the handler is declared.

    async def fetch(ctx: Context, store: int, full: bool = False)   takes   {"store": 7}
    def index(items: list[Product])   a batch handler: each task has   {"id": 1, "name": "tea"}
    async def echo(ctx: Context, /, **payload: Any)   takes any payload

A first parameter that is named `ctx` or annotated `Context` is the context and not part of the payload. The return
annotation is read by `results`.
"""

from __future__ import annotations

import hashlib
import inspect
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from json import dumps
from types import SimpleNamespace
from typing import Any

import msgspec

from rolecall.app.results import ResultType, cause_of, read_result, without_object
from rolecall.app.schemas import describe_mismatch, schema_of
from rolecall.app.shapes import JsonType, require_storable
from rolecall.model.codecs import codec_for, encode_revealed
from rolecall.model.errors import InvalidDeclaration, InvalidPayload
from rolecall.model.redaction import Redaction, hides

CONTEXTS = frozenset({"Context", "BatchContext", "ProcessContext"})
OBJECTS = (
    msgspec.inspect.StructType,
    msgspec.inspect.DataclassType,
    msgspec.inspect.TypedDictType,
    msgspec.inspect.DictType,
)
# Kinds of parameters that cannot be passed by name.
UNNAMED = {
    inspect.Parameter.VAR_POSITIONAL: "*{} does not accept named values: declare each parameter by name",
    inspect.Parameter.POSITIONAL_ONLY: "{} is positional-only, but payloads have named values",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The payload of a handler: `json` is its type, `schema` the JSON schema.

    `arguments`: the parameters to which the fields are passed; None if the payload is passed as a whole, as the
    item of a batch or to `**payload`. `returns`: the declared type of each task's result, or None. `strict`:
    whether unknown fields are rejected; otherwise they are dropped. `parameters` is for messages.
    """

    handler: str
    takes_context: bool
    arguments: tuple[str, ...] | None
    parameters: tuple[str, ...]
    json: JsonType
    schema: dict[str, Any]
    returns: ResultType | None
    strict: bool
    hides_values: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hides_values", hides(self.schema))

    @property
    def shape(self) -> Any:
        return self.json.shape

    @property
    def as_text(self) -> str:
        """The parameters as the function declares them."""
        return f"({', '.join(self.parameters)})"

    @property
    def takes_anything(self) -> bool:
        """Whether any payload is accepted, as with `**payload`."""
        return bool(self.shape == dict[str, Any])

    @property
    def fields(self) -> Mapping[str, Any]:
        """The JSON schemas of the payload's fields by name; empty if it has no fixed fields."""
        return _fields(self.schema)

    @property
    def intake(self) -> str:
        """The signature digest."""
        document = dumps([self.handler, self.schema, self.strict], sort_keys=True)
        return hashlib.sha256(document.encode()).hexdigest()[:16]

    def decode(self, payload_json: str | bytes) -> Any:
        """Return the keyword arguments (or the batch item) of a payload. Raises InvalidPayload."""
        try:
            value = self.json.decoder.decode(payload_json)
        except (msgspec.DecodeError, UnicodeError) as error:
            problem = describe_mismatch(error, self.schema)
            raise InvalidPayload(problem, handler=self.handler, stored=True) from cause_of(error, problem)
        if self.arguments is None:
            return value
        return {name: given for name in self.arguments if (given := getattr(value, name)) is not msgspec.UNSET}

    def assign_names(self, args: tuple[object, ...], payload: Mapping[str, object]) -> Mapping[str, object]:
        """Return the payload, with positional values assigned to parameters. Raises TypeError as a call does."""
        if not args:
            return payload
        if self.arguments is None:
            raise TypeError(f"the payload of {self.handler!r} has no order: pass its fields by name")
        if len(args) > len(self.arguments):
            raise TypeError(f"{self.handler!r} takes {len(self.arguments)} values, not {len(args)}")
        in_order = dict(zip(self.arguments, args, strict=False))
        if twice := in_order.keys() & payload.keys():
            raise TypeError(f"{self.handler!r} got {min(twice)!r} twice")
        return {**in_order, **payload}

    def check(self, payload: Mapping[str, object]) -> dict[str, object]:
        """Return the payload as JSON values. Raises InvalidPayload if it does not match."""
        try:
            plain: dict[str, object] = self.json.write(dict(payload), encode_revealed)
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
            problem = describe_mismatch(error, self.schema)
            raise InvalidPayload(problem, handler=self.handler) from cause_of(error, problem)
        return plain


def read_signature(function: Callable[..., object], *, handler: str, batch: bool, strict: bool = True) -> Signature:
    """Return a function's signature. Unless `strict`, unknown payload fields are dropped.

    Raises InvalidDeclaration, with the name of a parameter that has no schema.
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
            parameters=tuple(_parameter_text(parameter) for parameter in parameters),
            json=JsonType(shape, is_payload=True),
            schema=_with_defaults(schema_of(shape), parameters),
            returns=read_result(inner, handler=handler, batch=batch),
            strict=strict,
        )
    except (TypeError, NameError, AttributeError) as error:
        raise InvalidDeclaration(f"handler {handler!r}: {error}") from error


def annotation_name(parameter: inspect.Parameter) -> str:
    """Return the last part of a parameter's annotation, which may be importable only for type checkers."""
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return str(name).strip("\"'").rpartition(".")[2]


def _parameter_text(parameter: inspect.Parameter) -> str:
    # Annotations that are strings would be shown in quotes.
    return str(parameter).replace("'", "")


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
    # The context's annotation is not evaluated, because it may be importable only for type checkers.
    hints = typing.get_type_hints(
        SimpleNamespace(__annotations__=written),
        globalns=getattr(function, "__globals__", {}),
        include_extras=True,
    )
    rest = {each.name: without_object(hints[each.name]) for each in parameters if each.kind is each.VAR_KEYWORD}
    return hints | rest


def _takes_all(context: inspect.Parameter | None, parameters: list[inspect.Parameter]) -> bool:
    """Whether the payload is passed as `**payload`. Raises TypeError for parameters that make this ambiguous."""
    last = parameters[-1] if parameters else None
    if last is None or last.kind is not last.VAR_KEYWORD:
        return False
    if len(parameters) > 1:
        raise TypeError(f"**{last.name} takes the whole payload: declare each parameter by name, or only this one")
    if context is not None and context.kind is not context.POSITIONAL_ONLY:
        raise TypeError(
            f"write ({context.name}, /, **{last.name}), with the slash: a payload may have a field {context.name}"
        )
    return True


def _require_schema(name: str, hint: Any) -> None:
    try:
        schema_of(hint)
        require_storable(hint)
    except TypeError as error:
        raise TypeError(f"parameter {name}: {error}") from error


def _argument_shape(handler: str, parameters: list[inspect.Parameter], hints: dict[str, Any], *, strict: bool) -> Any:
    # Omitted fields are not passed on, so that the function uses its own defaults.
    fields: list[Any] = [
        (parameter.name, hints[parameter.name])
        if parameter.default is inspect.Parameter.empty
        else (parameter.name, hints[parameter.name] | msgspec.UnsetType, msgspec.UNSET)
        for parameter in parameters
    ]
    return msgspec.defstruct(handler, fields, forbid_unknown_fields=strict, kw_only=True)


def _with_defaults(schema: dict[str, Any], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """Add the function's defaults to the schema, if JSON can represent them."""
    # A batch's parameter is not a field of its payloads; their own types define defaults.
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
