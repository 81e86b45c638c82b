"""`@app.task` as type checkers see it: the payload, the result and the calls of a handler."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, overload

from rolecall.app.handlers import FunctionHandler, HandlerDefinition, HandlerOptions, HandlerSettings
from rolecall.model.handlers import TaskContext
from rolecall.model.hints import require_options

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)
C = TypeVar("C", bound=TaskContext)
Define = Callable[[Callable[..., Any], str | None, HandlerSettings], HandlerDefinition[..., Any]]
Awaited = Coroutine[Any, Any, R]


class DefinesParents(Protocol[P, R_co]):
    """Declares a handler whose gather step has the same payload and returns the result."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[C, P], S], /
    ) -> FunctionHandler[P, R_co, Callable[Concatenate[C, P], S]]: ...

    @overload
    def __call__(self, function: Callable[P, S], /) -> FunctionHandler[P, R_co, Callable[P, S]]: ...


class DefinesBatches(Protocol):
    """Declares a handler whose function takes a list of payloads."""

    def __call__(self, function: Callable[Q, R], /) -> FunctionHandler[..., Any, Callable[Q, R]]: ...


class TaskDecorator:
    """Declares a handler. The function's parameters are the schema of the payload, its return type that of the
    result.

        @app.task
        def add(a: int, b: int) -> int: ...

        @app.task(role="mail", max_attempts=3)
        async def greet(ctx: Context, name: str) -> None: ...

    By default, the name is the function's, the role is the handler's name, the description is the first line of the
    docstring, and other settings are the role's. Durations are in seconds or timedeltas; `max_attempts=0` means
    unlimited. Raises InvalidDeclaration for a signature that is not a schema and for a name that is taken, and
    TypeError for an unknown option.
    """

    def __init__(self, define: Define, name: str | None = None, settings: HandlerSettings | None = None) -> None:
        self._define = define
        self._name = name
        self._settings = settings or HandlerSettings()

    # The first and fourth overloads are for functions whose first parameter accepts anything: it may be the context
    # or a field, so their payloads are not checked. After them, overloads with a context come before those without.
    @overload
    def __call__(
        self, function: Callable[Concatenate[object, Q], Awaited[R]], /
    ) -> FunctionHandler[..., R, Callable[..., Awaited[R]]]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # in this order
        self, function: Callable[Concatenate[C, P], Awaited[R]], /
    ) -> FunctionHandler[P, R, Callable[Concatenate[C, P], Awaited[R]]]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # in this order
        self, function: Callable[P, Awaited[R]], /
    ) -> FunctionHandler[P, R, Callable[P, Awaited[R]]]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[object, Q], R], /
    ) -> FunctionHandler[..., R, Callable[..., R]]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[C, P], R], /
    ) -> FunctionHandler[P, R, Callable[Concatenate[C, P], R]]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> FunctionHandler[P, R, Callable[P, R]]: ...

    @overload
    def __call__(self, name: str | None = None, *, batch: int, **options: Unpack[HandlerOptions]) -> DefinesBatches: ...

    @overload
    def __call__(
        self,
        name: str | None = None,
        *,
        gather: Callable[Concatenate[C, P], Awaited[R]],
        **options: Unpack[HandlerOptions],
    ) -> DefinesParents[P, R]: ...

    @overload
    def __call__(
        self, name: str | None = None, *, gather: Callable[P, Awaited[R]], **options: Unpack[HandlerOptions]
    ) -> DefinesParents[P, R]: ...

    @overload
    def __call__(
        self, name: str | None = None, *, gather: Callable[Concatenate[C, P], R], **options: Unpack[HandlerOptions]
    ) -> DefinesParents[P, R]: ...

    @overload
    def __call__(
        self, name: str | None = None, *, gather: Callable[P, R], **options: Unpack[HandlerOptions]
    ) -> DefinesParents[P, R]: ...

    @overload
    def __call__(
        self, name: str | None = None, *, batch: None = None, gather: None = None, **options: Unpack[HandlerOptions]
    ) -> TaskDecorator: ...

    def __call__(self, name: Any = None, **options: Any) -> Any:
        if callable(name):
            return self._define(name, self._name, self._settings)
        require_options(options, HandlerSettings.__dataclass_fields__, "a handler")
        return TaskDecorator(self._define, name, HandlerSettings(**options))
