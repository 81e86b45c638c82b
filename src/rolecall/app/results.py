"""A handler's return annotation as the type of its tasks' results.

    async def bill(customer: int) -> Invoice | Snooze      declares an Invoice
    def index(items: list[Product]) -> list[int | Cancel]  a batch handler: each task's result is an int

No annotation, `None`, `object` and `Any` declare nothing. Values that are returned instead of a result (a Snooze, a
Cancel, an exception in a batch) are not part of the type.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rolecall.app.schemas import describe_mismatch, schema_of
from rolecall.app.shapes import JsonType, require_storable
from rolecall.model.errors import ContractBroken, InvalidDeclaration
from rolecall.model.large import POINTER
from rolecall.model.outcomes import ELSEWHERE, NoResult, ResultPointer, UnreadableResult, UnstoredResult
from rolecall.sql.encoding import NotStorable

ANYTHING = (object, Any)
UNIONS = (typing.Union, types.UnionType)
LISTS = (list, Sequence)


class ResultType:
    """The type of the results of one handler. Writes returned results and reads stored ones.

    It is pickled as None, so a task that comes from another process has JSON values as its result.
    """

    __slots__ = ("_json", "handler", "shape")

    def __init__(self, shape: Any, *, handler: str) -> None:
        self.handler = handler
        self.shape = shape
        self._json = JsonType(shape)

    @property
    def schema(self) -> dict[str, Any]:
        return schema_of(self.shape)

    def write(self, value: object) -> object:
        """Return a result as JSON values. Raises ContractBroken (invalid_output) if it is not of the type."""
        try:
            return self._json.write(value)
        except NotStorable as error:
            raise self.contract_error(f"cannot be stored: {error}", str(error)) from error
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
            problem = describe_mismatch(error, self.schema)
            raise self.contract_error(problem, problem) from cause_of(error, problem)

    def read(self, stored: Any) -> Any:
        """Return a stored result as a value of the declared type.

        A result that is stored elsewhere is returned as a ResultPointer, one that does not match as an
        UnreadableResult.
        """
        if isinstance(stored, UnstoredResult):
            return stored
        if isinstance(stored, dict) and stored.keys() == POINTER and stored["rolecall"] == ELSEWHERE:
            return ResultPointer(stored, self)
        try:
            return self._json.read(stored)
        except Exception as error:  # noqa: BLE001 - the code of the type runs in there and may raise anything
            return UnreadableResult(describe_mismatch(error, self.schema), self.handler, stored)

    def contract_error(self, message: str, problem: str) -> ContractBroken:
        """Return the error for a result that does not match the declaration."""
        separator = " " if message.startswith("cannot ") else ": "
        return ContractBroken(
            f"result of {self.handler!r}{separator}{message}",
            code="invalid_output",
            handler=self.handler,
            details={"problem": problem},
        )

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return type(None), ()


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


def cause_of(error: Exception, problem: str) -> Exception | None:
    """Return the error as a cause, unless values were redacted from the problem: then no traceback may show them."""
    return error if problem == str(error) else None


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
    kept = [member for member in _members(hint) if not _is_instead_of_a_result(member)]
    if any(member in ANYTHING for member in kept) or all(member in (None, type(None)) for member in kept):
        return None
    return typing.Union[tuple(kept)]  # noqa: UP007 - built from the annotation


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
