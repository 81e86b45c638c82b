"""`@app.task`, as type checkers see it: which payload a handler takes, what it returns, how it may be called."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, overload

from rolecall.app.handlers import FunctionHandler, HandlerDefinition, HandlerOptions, HandlerSettings
from rolecall.model.handlers import TaskContext

__all__ = ["TaskDecorator"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)
C = TypeVar("C", bound=TaskContext)
Define = Callable[[Callable[..., Any], str | None, HandlerSettings], HandlerDefinition[..., Any]]
Awaited = Coroutine[Any, Any, R]


class DefinesParents(Protocol[P, R_co]):
    """What makes a handler of a function with the same payload as its gather step, which returns the result."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[C, P], S], /
    ) -> FunctionHandler[P, R_co, Callable[Concatenate[C, P], S]]: ...

    @overload
    def __call__(self, function: Callable[P, S], /) -> FunctionHandler[P, R_co, Callable[P, S]]: ...


class DefinesBatches(Protocol):
    """What makes a handler of a function that takes a list of payloads."""

    def __call__(self, function: Callable[Q, R], /) -> FunctionHandler[..., Any, Callable[Q, R]]: ...


class TaskDecorator:
    """Defines a handler; the function's parameters are the schema of its payload, what it returns of its result.

        @app.task
        def add(a: int, b: int) -> int: ...

        @app.task(role="mail", max_attempts=3)
        async def greet(ctx: Context, name: str) -> None: ...

    What is not given: the name is the function's, the role the handler's name, the description the first line of the
    docstring, and everything else is the role's. Durations are seconds or timedeltas; `max_attempts` of 0 is no limit.
    Raises InvalidDeclaration for a signature that is no schema and for a name that is taken.
    """

    def __init__(self, define: Define, name: str | None = None, settings: HandlerSettings | None = None) -> None:
        self._define = define
        self._name = name
        self._settings = settings or HandlerSettings()

    # The first and the fourth are for functions whose first parameter takes anything: it could be the context or a
    # field, so their payloads are not checked. Then those with a context come before those without.
    @overload
    def __call__(
        self, function: Callable[Concatenate[object, Q], Awaited[R]], /
    ) -> FunctionHandler[..., R, Callable[..., Awaited[R]]]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # in this order, as said
        self, function: Callable[Concatenate[C, P], Awaited[R]], /
    ) -> FunctionHandler[P, R, Callable[Concatenate[C, P], Awaited[R]]]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # in this order, as said
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
        return TaskDecorator(self._define, name, HandlerSettings(**options))
