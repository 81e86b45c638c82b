"""Protocols of the program whose tasks a worker runs. `rolecall.app` implements them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any, Protocol

from rolecall.app.handlers import Middleware
from rolecall.db.migrations import Migrations
from rolecall.model.large import KeepsLarge
from rolecall.model.operator.logs import LogLevel
from rolecall.model.schedules import Schedule
from rolecall.model.tasks import NewTask
from rolecall.model.workers import Workplace
from rolecall.telemetry import Emitter, EventSink


class Callee(Protocol):
    """The part of a handler that a runner calls for one task."""

    @property
    def takes_context(self) -> bool: ...

    def decode(self, payload_json: str | bytes) -> Any:
        """Return the argument of `call`, or one item of `call_batch`. Raises InvalidPayload."""

    def call(self, context: object, arguments: Any) -> Any:
        """Call the function for one task. Returns an awaitable if `is_async`."""


class Handler(Callee, Protocol):
    """The function for tasks of one name."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def batch(self) -> int | None:
        """The most tasks that one call takes; None unless it is a batch handler."""

    @property
    def process(self) -> bool:
        """Whether it runs in a child process."""

    @property
    def logs(self) -> LogLevel | None:
        """The lowest level of its stored log lines; None for that of the worker."""

    @property
    def is_async(self) -> bool: ...

    @property
    def gather(self) -> Handler | None:
        """The step that runs when all children have finished."""

    @property
    def function(self) -> Callable[..., object]: ...

    @property
    def strict(self) -> bool:
        """Whether payloads with unknown fields are rejected."""

    @property
    def intake(self) -> str:
        """The signature digest."""

    @property
    def hides(self) -> bool:
        """Whether its payloads have redacted values."""

    def secrets_in(self, payload_json: str) -> Iterable[str]:
        """Return the redacted texts and numbers of a payload."""

    def call_batch(self, context: object, items: Sequence[Any]) -> Any:
        """Call the function for several tasks. Returns an awaitable if `is_async`."""


class WritesResult(Protocol):
    """The declared type of a handler's results."""

    def write(self, value: object) -> object:
        """Return a result as JSON values. Raises ContractBroken if it is not of the type."""


class Contract(Protocol):
    """A handler's contract."""

    @property
    def gathers(self) -> bool:
        """Whether the handler has a gather step."""

    @property
    def returns(self) -> WritesResult | None:
        """The type of the result, if it is declared."""

    @property
    def must_continue(self) -> bool:
        """Whether the last step must continue the chain."""

    @property
    def then(self) -> Callable[[Any], Iterable[NewTask]] | None:
        """The rule that derives follow-ups from the result."""

    def check_continuation(self, task: NewTask | None) -> None:
        """Raise ContractBroken or InvalidPayload unless the last step continues the chain as declared."""

    def check_earlier_step(self, continuation: NewTask | None) -> None:
        """Raise ContractBroken if a step before the last one continues the chain."""

    def check_needs(self, task: NewTask) -> None:
        """Raise ContractBroken if a task of this handler lacks a required need."""


class Program(Protocol):
    """An app, as far as workers use it."""

    @property
    def name(self) -> str:
        """The name of the app."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by name."""

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The schedules by name."""

    @property
    def key_capacities(self) -> Mapping[str, int]:
        """The declared capacities by key or key pattern."""

    @property
    def large(self) -> KeepsLarge | None:
        """The store for large values, if there is one."""

    @property
    def lifespan(self) -> Callable[[Workplace], AbstractAsyncContextManager[object]]:
        """The context in which a worker runs its tasks."""

    @property
    def carried(self) -> Sequence[ContextVar[Any]]:
        """The context variables whose values are copied into child processes."""

    @property
    def sinks(self) -> Sequence[EventSink]:
        """The sinks for events, which may also trace."""

    @property
    def emitter(self) -> Emitter:
        """The emitter that passes events to the sinks."""

    @property
    def migrations(self) -> Sequence[Migrations]:
        """The migrations of the app's own tables."""

    def check(self) -> None:
        """Raise HandlerError if a declaration is invalid."""

    def contracts(self) -> Mapping[str, Contract]:
        """The contracts of handlers that have one, by name."""

    def middlewares_of(self, handler: str) -> Sequence[Middleware]:
        """The middlewares of a handler, the outermost first."""

    def declaration(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Return the roles and the handlers as the engine stores them."""
