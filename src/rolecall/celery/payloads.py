"""Converts a call's arguments to payload fields and back, by the signature of the task's function.

`*args` and `**kwargs` are fields with these names. The additional field `canvas` contains the steps that follow.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any

from rolecall.celery.tasks import Task
from rolecall.model.errors import InvalidDeclaration, InvalidPayload

CANVAS = "canvas"
CONTEXT = "ctx"
PLAIN = (str, int, float, bool, type(None))
Kind = inspect.Parameter


class Fields:
    """The payload fields of one task. Raises InvalidDeclaration if its function cannot have any."""

    def __init__(self, task: Task) -> None:
        self._task = task.name
        self._signature = task.parameters()
        if taken := {CANVAS, CONTEXT} & self._signature.parameters.keys():
            raise InvalidDeclaration(f"task {task.name!r}: rename the parameter {min(taken)}, which is reserved")
        try:
            self._hints = typing.get_type_hints(task.function, include_extras=True)
        except NameError as error:
            raise InvalidDeclaration(f"task {task.name!r}: {error}, which its annotations name") from error

    def signature(self) -> inspect.Signature:
        """Return the handler's signature: the context, then the fields by name. Missing annotations mean Any."""
        own = [self._parameter(each) for each in self._signature.parameters.values()]
        last = Kind(CANVAS, Kind.KEYWORD_ONLY, annotation=dict[str, Any] | None, default=None)
        return inspect.Signature([Kind(CONTEXT, Kind.POSITIONAL_ONLY), *own, last])

    def payload(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload of a call.

        Raises TypeError like the call itself, and InvalidPayload for an unannotated value that JSON does not preserve.
        """
        fields = self._signature.bind(*args, **kwargs).arguments
        for name, value in fields.items():
            if self._hints.get(name, Any) is Any and not is_plain(value):
                raise InvalidPayload(
                    f"{name} has the type {type(value).__name__}, which JSON would change: annotate the parameter with "
                    "its type, or pass a string or a number",
                    handler=self._task,
                )
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

    def arguments(self, payload: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of the call with this payload."""
        bound = inspect.BoundArguments(self._signature, {})
        for name in self._signature.parameters:
            if name in payload:
                bound.arguments[name] = payload[name]
        return bound.args, bound.kwargs

    def _parameter(self, parameter: inspect.Parameter) -> inspect.Parameter:
        hint = self._hints.get(parameter.name, Any)
        match parameter.kind:
            case Kind.VAR_POSITIONAL:
                hint, default = list[hint], ()  # type: ignore[valid-type]  # a type that was read
            case Kind.VAR_KEYWORD:
                hint, default = dict[str, hint], {}  # type: ignore[valid-type,assignment]  # a type that was read
            case _:
                default = parameter.default
        return Kind(parameter.name, Kind.KEYWORD_ONLY, annotation=hint, default=default)


def is_plain(value: Any) -> bool:
    """Return whether JSON preserves the value. A tuple counts, although it becomes a list, as it does in Celery."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_plain(each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)
