"""Handler definitions: function, name, role, settings, middlewares, and the schema of the payload."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar, Unpack

from rolecall.app.annotations import annotation_name, read_signature
from rolecall.app.clients import AppClients
from rolecall.app.key_templates import check_template
from rolecall.app.links import Links, Reference, read_links, require_same_payload
from rolecall.app.signature import ResultType, Signature
from rolecall.model.durations import Duration, in_seconds
from rolecall.model.errors import ContractBroken, InvalidDeclaration
from rolecall.model.hints import method_hint, require_options
from rolecall.model.operator.logs import LEVELS, LogLevel
from rolecall.model.redaction import Redaction
from rolecall.model.retry import RetryPolicy
from rolecall.model.tasks import Enqueued, NewTask, TaskOptions
from rolecall.model.transactions import AsyncJoinable, Joinable

P = ParamSpec("P")
F_co = TypeVar("F_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)
Extra = Literal["forbid", "ignore"]
# These use the worker's connections and loop, so they cannot be sent to a child process.
BOUND_TO_THE_WORKER = frozenset({"Context", "BatchContext"})


class HandlerOptions(TypedDict, total=False):
    """The options of `app.task(...)` other than `batch` and `gather` (see HandlerSettings and
    `rolecall.app.links`).
    """

    role: str | None
    retry: RetryPolicy | None
    max_attempts: int | None
    timeout: Duration | None
    expires: Duration | None
    lease: Duration | None
    process: bool
    description: str | None
    middlewares: Sequence[Middleware]
    entry: bool
    continues: Sequence[Reference] | None
    must_continue: bool
    needs: Sequence[Reference | EllipsisType] | None
    then: Callable[[Any], Iterable[NewTask]] | None
    extra: Extra
    key: str | None
    dedupe_key: str | None
    strict_keys: bool | None
    logs: LogLevel | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerSettings:
    """The settings of a handler. Settings that are None are those of its role.

    `batch`: the most tasks that one call takes; None means one task per call. `process`: run a synchronous function
    in a child process, which is killed if the task must stop. `gather`: the handler's second step, called with the
    same payload when all children of the first step have finished, even if there were none. A gather step that
    spawns children is called again after them. `middlewares` wrap each attempt, inside those of the app. `entry`,
    `continues`, `must_continue`, `needs` and `then` are the contract (`rolecall.app.links`). `extra="ignore"` drops
    unknown payload fields, also nested ones, instead of rejecting the payload; pydantic models define this themselves.
    `key` and `dedupe_key` are templates for tasks that have none, with payload fields in braces:
    `store:{store_id}`. If such a field is None, the task has no key. `expires`: how long after its due time a task
    expires, unless the task sets it. `strict_keys`: the handler's tasks are not claimed as part of a sequence (see
    RoleDefinition). `logs`: the lowest level of log lines that are stored with its tasks; `off` stores none.
    """

    role: str | None = None
    retry: RetryPolicy | None = None
    max_attempts: int | None = None
    timeout: Duration | None = None
    expires: Duration | None = None
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
    key: str | None = None
    dedupe_key: str | None = None
    strict_keys: bool | None = None
    logs: LogLevel | None = None


class UsingOptions(TaskOptions, total=False):
    """The options of `using`: those of a task, and the transaction in which to enqueue it."""

    connection: Joinable | AsyncJoinable | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerDefinition(Generic[P, R_co]):
    """The function for tasks of one name. Calling the definition calls the function.

        client.enqueue(fetch, store=7)
        client.enqueue(fetch.task(store=7).options(priority=5))
        fetch.using(priority=5).enqueue(store=7)

    P are the fields of the payload and R is the result, so that type checkers check the arguments of these calls.
    """

    name: str
    function: Callable[..., object]
    signature: Signature
    settings: HandlerSettings
    middlewares: tuple[Middleware, ...]
    links: Links
    clients: AppClients = field(compare=False, repr=False)
    gather: HandlerDefinition[..., object] | None = None
    task_options: UsingOptions = field(default_factory=UsingOptions)
    returns: ResultType | None = field(init=False, compare=False)  # the type of the last step's result, if declared

    def __post_init__(self) -> None:
        object.__setattr__(self, "returns", (self.gather or self).signature.returns)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, outside of any task."""
        return self.function(*args, **kwargs)

    if not TYPE_CHECKING:

        def __getattr__(self, word: str) -> Any:
            hint = "" if word.startswith("_") else method_hint(word, dir(type(self)))
            raise AttributeError(f"{word} is not a method of a handler{hint}")

    @property
    def role(self) -> str:
        """The role of its tasks, by default the handler's name."""
        return self.settings.role or self.name

    @property
    def batch(self) -> int | None:
        """The most tasks that one call takes; None unless it is a batch handler."""
        return self.settings.batch

    @property
    def process(self) -> bool:
        return self.settings.process

    @property
    def logs(self) -> LogLevel | None:
        return self.settings.logs

    @property
    def is_async(self) -> bool:
        """Whether it is an `async def`. Other functions run in a thread or a child process."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def strict(self) -> bool:
        """Whether payloads with unknown fields are rejected."""
        return self.signature.strict

    @property
    def intake(self) -> str:
        """The signature digest of both steps."""
        own = self.signature.intake
        return own if self.gather is None else f"{own}-{self.gather.signature.intake}"

    @property
    def takes_context(self) -> bool:
        """Whether the function takes the worker's context as its first argument."""
        return self.signature.takes_context

    def task(self, /, *args: P.args, **payload: P.kwargs) -> NewTask[R_co]:
        """Return a task with this payload. Raises InvalidPayload."""
        return self.build_task(self.signature.assign_names(args, payload))

    def build_task(self, payload: Mapping[str, object]) -> NewTask[R_co]:
        """Return a task with a payload that is given as a mapping. Raises InvalidPayload."""
        options = {word: given for word, given in self.task_options.items() if word != "connection"}
        checked = self.signature.check(payload)
        return NewTask(handler=self.name, payload=checked, returns=self.returns, **options)  # type: ignore[arg-type]  # as `using` took them

    def using(self, **options: Unpack[UsingOptions]) -> HandlerDefinition[P, R_co]:
        """Return the handler with options for its tasks: `greet.using(priority=5, connection=session)`.

        Raises TypeError for an unknown option.
        """
        require_options(options, UsingOptions.__annotations__, "a task")
        return replace(self, task_options={**self.task_options, **options})

    def enqueue(self, /, *args: P.args, **payload: P.kwargs) -> Enqueued[R_co]:
        """Store a task with the latest Client of this handler's app.

        Raises the errors of `Client.enqueue`, and ConfigError if there is no Client.
        """
        return self.clients.sync_client.get().enqueue(
            self.task(*args, **payload), connection=self.task_options.get("connection")
        )

    async def aenqueue(self, /, *args: P.args, **payload: P.kwargs) -> Enqueued[R_co]:
        """Store a task with the latest AsyncClient of this handler's app.

        Raises the errors of `AsyncClient.enqueue`, and ConfigError if there is no AsyncClient.
        """
        task = self.task(*args, **payload)
        return await self.clients.async_client.get().enqueue(task, connection=self.task_options.get("connection"))

    @property
    def hides(self) -> bool:
        """Whether its payloads have redacted values."""
        return self.signature.hides_values

    def secrets_in(self, payload_json: str | bytes) -> Sequence[str]:
        """Return the redacted texts and numbers of a payload."""
        return Redaction(self.signature.schema).hidden_texts(json.loads(payload_json))

    def require_entry(self, asked_by: str) -> None:
        """Raise ContractBroken (not_entry_point) if its tasks cannot start a chain."""
        if not self.links.entry:
            raise ContractBroken(
                f"handler {self.name!r} cannot start a chain (entry=False), but {asked_by} would start one",
                code="not_entry_point",
                handler=self.name,
                details={"asked_by": asked_by},
            )

    @property
    def decode(self) -> Callable[[str | bytes], Any]:
        """Returns the keyword arguments (of a batch handler: the item) of a task. Raises InvalidPayload."""
        return self.signature.decode

    def call(self, context: object, arguments: dict[str, Any]) -> Any:
        """Call the function for one task. Returns an awaitable if `is_async`."""
        if self.signature.takes_context:
            return self.function(context, **arguments)
        return self.function(**arguments)

    def call_batch(self, context: object, items: Sequence[Any]) -> Any:
        """Call the function for several tasks. Returns an awaitable if `is_async`."""
        return self.function(context, list(items)) if self.signature.takes_context else self.function(list(items))

    def to_json(self) -> dict[str, object]:
        """Return the declaration as the engine takes it."""
        settings = self.settings
        declaration = {
            "name": self.name,
            "role": self.role,
            "description": settings.description or _first_line(self.function),
            "signature": self.signature.schema,
            "lease": in_seconds(settings.lease),
            "timeout": in_seconds(settings.timeout),
            "expires": in_seconds(settings.expires),
            "max_attempts": settings.max_attempts,
            "retry": settings.retry.to_json() if settings.retry else None,
            "key": settings.key,
            "dedupe_key": settings.dedupe_key,
            "strict_keys": settings.strict_keys,
            "result_schema": self.returns.schema if self.returns else None,
        }
        return {name: value for name, value in declaration.items() if value is not None}


class FunctionHandler(HandlerDefinition[P, R_co], Generic[P, R_co, F_co]):
    """A handler that type checkers can call as its function F."""

    if TYPE_CHECKING:

        @property
        def __call__(self) -> F_co: ...  # type: ignore[override]  # the same function, known better


def define(
    function: Callable[..., Any], name: str | None, settings: HandlerSettings, clients: AppClients | None = None
) -> FunctionHandler[..., Any, Any]:
    """Return the definition of a handler. Raises InvalidDeclaration if the function cannot be one."""
    handler = name or str(getattr(function, "__name__", type(function).__name__))
    _require_plain_call(function, handler)
    if settings.batch is not None and settings.batch < 1:
        raise InvalidDeclaration(f"handler {handler!r}: batch must be at least 1, not {settings.batch}")
    if settings.extra not in {"forbid", "ignore"}:
        raise InvalidDeclaration(f"handler {handler!r}: extra must be 'forbid' or 'ignore', not {settings.extra!r}")
    if settings.logs not in {None, *LEVELS}:
        raise InvalidDeclaration(f"handler {handler!r}: logs must be one of {', '.join(LEVELS)}, not {settings.logs!r}")
    if settings.process:
        require_process(function, handler=handler, batch=settings.batch)
    signature = read_signature(
        function, handler=handler, batch=settings.batch is not None, strict=settings.extra == "forbid"
    )
    for word, template in (("key", settings.key), ("dedupe_key", settings.dedupe_key)):
        if template is not None:
            check_template(template, word, signature)
    return FunctionHandler(
        name=handler,
        function=function,
        clients=clients or AppClients(),
        gather=None if settings.gather is None else _define_gather(settings.gather, signature, settings),
        signature=signature,
        settings=settings,
        middlewares=require_async(settings.middlewares),
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
    function: Callable[..., object], first: Signature, settings: HandlerSettings
) -> HandlerDefinition[..., object]:
    if settings.batch is not None or settings.process:
        raise InvalidDeclaration(f"handler {first.handler!r}: a batch or process handler cannot have a gather step")
    gather = define(function, first.handler, replace(settings, gather=None, key=None, dedupe_key=None))
    require_same_payload(first, gather.signature)
    return gather


def _first_line(function: Callable[..., object]) -> str | None:
    return (inspect.getdoc(function) or "").partition("\n")[0] or None


def _require_plain_call(function: Callable[..., object], handler: str) -> None:
    inner = inspect.unwrap(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise InvalidDeclaration(f"handler {handler!r} is a generator: it must return, not yield")
    if inspect.iscoroutinefunction(inner) and not inspect.iscoroutinefunction(function):
        raise InvalidDeclaration(
            f"handler {handler!r} is async, but a decorator hides that: make the wrapper async as well"
        )


class Next(Protocol):
    """Calls the next middleware or, at the end, the handler."""

    def __call__(self) -> Awaitable[Any]: ...


class Middleware(Protocol):
    """Wraps each attempt. It can observe it, change its result, raise, or return a Snooze or Cancel instead.

        async def timed(ctx: Context, call_next: Next) -> object:
            with timer(ctx.handler):
                return await call_next()

    `ctx` is the attempt's Context, or BatchContext for a batch. Its errors are errors of the task.
    """

    def __call__(self, ctx: Any, call_next: Next, /) -> Awaitable[Any]: ...


def require_async(middlewares: Iterable[Middleware]) -> tuple[Middleware, ...]:
    """Return the middlewares as a tuple. Raises InvalidDeclaration for one that is not async."""
    result = tuple(middlewares)
    for middleware in result:
        if not (inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(type(middleware).__call__)):
            raise InvalidDeclaration(f"{_name(middleware)} is not a middleware: it must be async (ctx, call_next)")
    return result


def require_middlewares(required: Sequence[Middleware], found: Sequence[Middleware], *, handler: str) -> None:
    """Raise InvalidDeclaration unless the required middlewares are among those found, in the same order."""
    rest = iter(found)
    if all(any(wanted == present for present in rest) for wanted in required):
        return
    wanted = ", ".join(map(_name, required))
    present = ", ".join(map(_name, found)) or "none"
    raise InvalidDeclaration(
        f"handler {handler!r} lacks required middlewares: {wanted}, in this order; it has {present}"
    )


def _name(middleware: object) -> str:
    return str(getattr(middleware, "__qualname__", None) or type(middleware).__qualname__)


def require_process(function: Callable[..., object], *, handler: str, batch: int | None) -> None:
    """Raise InvalidDeclaration, with the solution, for a function that a child process cannot import or call."""
    inner = inspect.unwrap(function)
    if inspect.iscoroutinefunction(inner):
        raise _process_error(handler, "is async: a process runs only synchronous functions (def)")
    if batch is not None:
        raise _process_error(handler, "takes batches: a process runs one task at a time")
    if "<" in getattr(inner, "__qualname__", "<"):
        raise _process_error(handler, "is inside a function: a process imports handlers from the top level of modules")
    annotation = next(map(annotation_name, inspect.signature(inner).parameters.values()), "")
    if annotation in BOUND_TO_THE_WORKER:
        raise _process_error(handler, f"takes a {annotation}, which stays in the worker: use a ProcessContext")


def _process_error(handler: str, why: str) -> InvalidDeclaration:
    return InvalidDeclaration(f"handler {handler!r} cannot run in a process: it {why}")
