"""A handler as defined: a function, its name and role, its settings, and the schema of its payload."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar

from rolecall.app.links import Links, Reference, read_links
from rolecall.app.middlewares import Middleware, checked
from rolecall.app.process import require_process
from rolecall.app.signature import Signature, read_signature
from rolecall.model.durations import Duration, in_seconds
from rolecall.model.errors import ContractBroken, InvalidDeclaration
from rolecall.model.retry import RetryPolicy
from rolecall.model.tasks import NewTask

__all__ = ["Extra", "HandlerDefinition", "HandlerOptions", "HandlerSettings", "define"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Extra = Literal["forbid", "ignore"]


class HandlerOptions(TypedDict, total=False):
    """The words of `app.task(...)`; see HandlerSettings and `rolecall.app.links`."""

    role: str | None
    retry: RetryPolicy | None
    max_attempts: int | None
    timeout: Duration | None
    lease: Duration | None
    batch: int | None
    process: bool
    gather: Callable[..., object] | None
    description: str | None
    middlewares: Sequence[Middleware]
    entry: bool
    continues: Sequence[Reference] | None
    must_continue: bool
    needs: Sequence[Reference | EllipsisType] | None
    then: Callable[[Any], Iterable[NewTask]] | None
    extra: Extra


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerSettings:
    """What a handler sets differently from its role; None leaves it to the role.

    `batch` is the most tasks that one call takes; None means one task a call. `process` runs a plain function in
    a process of its own, which is killed when the task must stop. `gather` is the handler's second step, called
    with the same payload when the last of the children that a step has spawned has finished. The middlewares
    stand around each attempt, inside those of the app; `extra="ignore"` drops fields that are no parameters, instead of
    refusing the payload (a batch handler's items say that themselves). The five before it are the links to other
    handlers, as declared.
    """

    role: str | None = None
    retry: RetryPolicy | None = None
    max_attempts: int | None = None
    timeout: Duration | None = None
    lease: Duration | None = None
    batch: int | None = None
    process: bool = False
    gather: Callable[..., object] | None = None
    description: str | None = None
    middlewares: Sequence[Middleware] = ()
    entry: bool = True
    continues: Sequence[Reference] | None = None
    must_continue: bool = False
    needs: Sequence[Reference | EllipsisType] | None = None
    then: Callable[[Any], Iterable[NewTask]] | None = None
    extra: Extra = "forbid"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerDefinition(Generic[P, R_co]):
    """The code that does tasks of one name; call it and you call the function itself.

    client.enqueue(fetch.task(store=7).options(priority=5))
    """

    name: str
    function: Callable[P, R_co]
    signature: Signature
    settings: HandlerSettings
    middlewares: tuple[Middleware, ...]
    links: Links
    gather: HandlerDefinition[..., object] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function, outside of any task."""
        return self.function(*args, **kwargs)

    @property
    def role(self) -> str:
        """The lane that its tasks stand in; the handler's own name if none was given."""
        return self.settings.role or self.name

    @property
    def batch(self) -> int | None:
        """The most tasks that one call takes; None for a handler of single tasks."""
        return self.settings.batch

    @property
    def process(self) -> bool:
        """True for a handler that is run in a process of its own."""
        return self.settings.process

    @property
    def is_async(self) -> bool:
        """True for an `async def`; others are run in a thread, or in a process."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def result(self) -> Any | None:
        """The type that a task's result must fit, that of the last step; None if any may."""
        return (self.gather or self).signature.result

    @property
    def strict(self) -> bool:
        """Whether a payload with fields that are no parameters does not fit."""
        return self.signature.strict

    @property
    def intake(self) -> str:
        """By what a worker says which payloads it takes for this handler, in both of its steps."""
        own = self.signature.intake
        return own if self.gather is None else f"{own}-{self.gather.signature.intake}"

    @property
    def takes_context(self) -> bool:
        """True if the function wants the worker's context as its first argument."""
        return self.signature.takes_context

    def task(self, /, **payload: object) -> NewTask:
        """Make a task with this payload; raise InvalidPayload if it does not fit."""
        return NewTask(handler=self.name, payload=self.signature.check(payload))

    def require_entry(self, asked_by: str) -> None:
        """Raise ContractBroken (not_entry_point) if its tasks may not start a chain."""
        if not self.links.entry:
            raise ContractBroken(
                f"handler {self.name!r} may not start a chain (entry=False), but {asked_by} asks for it",
                code="not_entry_point",
                handler=self.name,
                details={"asked_by": asked_by},
            )

    def decode(self, payload_json: str | bytes) -> Any:
        """Return the keyword arguments (for a batch handler: the item) of a task; raise InvalidPayload."""
        return self.signature.decode(payload_json)

    def call(self, context: object, arguments: dict[str, Any]) -> Any:
        """Call the function for one task, with what `decode` returned; an awaitable if `is_async`."""
        return self._invoke(context, (), arguments)

    def call_batch(self, context: object, items: Sequence[Any]) -> Any:
        """Call the function for many tasks, with one decoded item each; an awaitable if `is_async`."""
        return self._invoke(context, (list(items),), {})

    def to_json(self) -> dict[str, object]:
        """Return what is said of this handler, as the database takes it."""
        settings = self.settings
        said = {
            "name": self.name,
            "role": self.role,
            "description": settings.description or _first_line(self.function),
            "signature": self.signature.schema,
            "lease": in_seconds(settings.lease),
            "timeout": in_seconds(settings.timeout),
            "max_attempts": settings.max_attempts,
            "retry": settings.retry.to_json() if settings.retry else None,
        }
        return {name: value for name, value in said.items() if value is not None}

    def _invoke(self, context: object, items: tuple[Any, ...], arguments: dict[str, Any]) -> R_co | Awaitable[R_co]:
        call: Callable[..., R_co] = self.function
        return call(context, *items, **arguments) if self.takes_context else call(*items, **arguments)


def define(function: Callable[P, R_co], name: str | None, settings: HandlerSettings) -> HandlerDefinition[P, R_co]:
    """Read a function into a definition; raise InvalidDeclaration where it cannot be a handler."""
    handler = name or str(getattr(function, "__name__", type(function).__name__))
    _require_plain_call(function, handler)
    if settings.batch is not None and settings.batch < 1:
        raise InvalidDeclaration(f"handler {handler!r}: batch must be at least 1, not {settings.batch}")
    if settings.extra not in {"forbid", "ignore"}:
        raise InvalidDeclaration(f"handler {handler!r}: extra is 'forbid' or 'ignore', not {settings.extra!r}")
    if settings.process:
        require_process(function, handler=handler, batch=settings.batch)
    return HandlerDefinition(
        name=handler,
        function=function,
        gather=None if settings.gather is None else _define_gather(settings.gather, handler, settings),
        signature=read_signature(
            function, handler=handler, batch=settings.batch is not None, strict=settings.extra == "forbid"
        ),
        settings=settings,
        middlewares=checked(settings.middlewares),
        links=read_links(
            handler,
            entry=settings.entry,
            continues=settings.continues,
            must_continue=settings.must_continue,
            needs=settings.needs,
            then=settings.then,
        ),
    )


def _define_gather(
    function: Callable[..., object], handler: str, settings: HandlerSettings
) -> HandlerDefinition[..., object]:
    if settings.batch is not None or settings.process:
        raise InvalidDeclaration(f"handler {handler!r}: a batch or process handler spawns no children to gather")
    return define(function, handler, replace(settings, gather=None))


def _first_line(function: Callable[..., object]) -> str | None:
    return (inspect.getdoc(function) or "").partition("\n")[0] or None


def _require_plain_call(function: Callable[..., object], handler: str) -> None:
    inner = inspect.unwrap(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise InvalidDeclaration(f"handler {handler!r} is a generator: it must return, not yield")
    if inspect.iscoroutinefunction(inner) and not inspect.iscoroutinefunction(function):
        raise InvalidDeclaration(
            f"handler {handler!r} is async, but a decorator hides that: the wrapper must be async, too"
        )
