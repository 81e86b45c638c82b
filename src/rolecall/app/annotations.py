"""Reads a handler's annotations as the types of its payload and its result, once when the handler is declared.

    async def fetch(ctx: Context, store: int, full: bool = False)   takes   {"store": 7}
    def index(items: list[Product])   a batch handler: each task has   {"id": 1, "name": "tea"}
    async def echo(ctx: Context, /, **payload: Any)   takes any payload
    async def bill(customer: int) -> Invoice | Snooze      declares an Invoice
    def index(items: list[Product]) -> list[int | Cancel]  a batch handler: each task's result is an int

A first parameter that is named `ctx` or annotated `Context` is the context and not part of the payload. For results,
no annotation, `None`, `object` and `Any` declare nothing. Values that are returned instead of a result (a Snooze, a
Cancel, an exception in a batch) are not part of the type.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import msgspec

from rolecall.app.schemas import schema_of
from rolecall.app.shapes import require_storable
from rolecall.app.signature import JsonType, ResultType, Signature, fields_of
from rolecall.model.codecs import codec_for
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.outcomes import NoResult
from rolecall.model.redaction import Redaction

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
# Kinds of parameters that cannot be passed by name.
UNNAMED = {
    inspect.Parameter.VAR_POSITIONAL: "*{} does not accept named values: declare each parameter by name",
    inspect.Parameter.POSITIONAL_ONLY: "{} is positional-only, but payloads have named values",
}


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
        if not batch:
            _require_call(function, context, parameters)
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
            json=JsonType(shape, is_payload=True, is_strict=strict),
            schema=_with_defaults(schema_of(shape, is_strict=strict), parameters),
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
        if annotation_name(parameter) in CONTEXTS:
            raise TypeError(f"parameter {parameter.name} is the context: put it first")
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


def _require_call(
    function: Callable[..., object], context: inspect.Parameter | None, parameters: list[inspect.Parameter]
) -> None:
    """Raise TypeError if a decorator returned a function that does not accept the payload as named values."""
    if hasattr(function, "dispatch") and hasattr(function, "registry"):
        raise TypeError("singledispatch needs a positional value, but payloads have named values")
    named = {parameter.name: None for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
    try:
        inspect.signature(function, follow_wrapped=False).bind(*[None] * (context is not None), **named)
    except ValueError:
        return  # functions in C have no signature
    except TypeError as error:
        raise TypeError(f"the function that its decorator returned cannot be called by name: {error}") from error


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
    fields, redaction = fields_of(schema), Redaction(schema)
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty or parameter.name not in fields:
            continue
        if not redaction.hides_in(fields[parameter.name]):
            with suppress(TypeError, ValueError, RecursionError):
                fields[parameter.name]["default"] = msgspec.to_builtins(parameter.default, str_keys=True)
    return schema


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


def read_result(function: Callable[..., object], *, handler: str, batch: bool) -> ResultType | None:
    """Return the declared type of each task's result, or None. Raises InvalidDeclaration."""
    annotation = inspect.signature(function).return_annotation
    if annotation is inspect.Signature.empty:
        return None
    try:
        hint = _evaluate(function, annotation)
        promised = _declared_type(_item(hint) if batch else hint)
        if promised is None:
            return None
        schema_of(promised)
        require_storable(promised)
        return ResultType(dict if _is_any_object(promised) else promised, handler=handler)
    except (TypeError, NameError, AttributeError) as error:
        declared = f"`-> {inspect.formatannotation(annotation)}` cannot be stored (`-> object` declares no type)"
        raise InvalidDeclaration(f"handler {handler!r}: {declared}: {error}") from error


def without_object(hint: Any) -> Any:
    """Replace `object` within a type, as in `dict[str, object]`, by Any, for which msgspec has a schema."""
    if hint is object:
        return Any
    if isinstance(hint, types.GenericAlias):
        return types.GenericAlias(typing.get_origin(hint), tuple(map(without_object, typing.get_args(hint))))
    if typing.get_origin(hint) in UNIONS:
        return typing.Union[tuple(map(without_object, typing.get_args(hint)))]  # noqa: UP007 - built from the annotation
    return hint


def _evaluate(function: Callable[..., object], annotation: object) -> Any:
    annotated = types.SimpleNamespace(__annotations__={"return": annotation})
    hints = typing.get_type_hints(annotated, getattr(function, "__globals__", {}), include_extras=True)
    return without_object(hints["return"])


def _item(hint: Any) -> Any:
    """Return the item type of a batch handler's list, or None if it returns no list."""
    members = _members(hint)
    lists = [member for member in members if typing.get_origin(member) in LISTS]
    if len(lists) != 1:
        return None
    (item, *_) = typing.get_args(lists[0])
    return item | None if type(None) in members else item


def _declared_type(hint: Any) -> Any | None:
    members = [member for member in _members(hint) if not _is_instead_of_a_result(member)]
    if any(member in ANYTHING for member in members) or all(member in (None, type(None)) for member in members):
        return None
    return typing.Union[tuple(members)]  # noqa: UP007 - built from the annotation


def _members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in UNIONS else (hint,)


def _is_instead_of_a_result(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, NoResult | BaseException)


def _is_any_object(promised: Any) -> bool:
    """Whether any object matches, so that its content need not be checked."""
    known = msgspec.inspect.type_info(promised)
    return (
        isinstance(known, msgspec.inspect.DictType)
        and isinstance(known.key_type, msgspec.inspect.StrType | msgspec.inspect.AnyType)
        and isinstance(known.value_type, msgspec.inspect.AnyType)
    )
