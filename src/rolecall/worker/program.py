"""What a worker must know of the program whose tasks it runs; `rolecall.app` says all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any, Protocol

from rolecall.app.handlers import Middleware
from rolecall.db.migrations import Migrations
from rolecall.model.large import KeepsLarge
from rolecall.model.schedules import Schedule
from rolecall.model.tasks import NewTask
from rolecall.model.workers import Workplace
from rolecall.telemetry import Emitter, EventSink


class Callee(Protocol):
    """What a runner calls for one task."""

    @property
    def takes_context(self) -> bool: ...

    def decode(self, payload_json: str | bytes) -> Any:
        """Return what `call` takes for a task, or one item of `call_batch`; raise InvalidPayload."""

    def call(self, context: object, arguments: Any) -> Any:
        """Call the function for one task; an awaitable if `is_async`."""


class Handler(Callee, Protocol):
    """The code that does tasks of one name."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def batch(self) -> int | None:
        """The most tasks that one call takes; None for a handler of single tasks."""

    @property
    def process(self) -> bool:
        """True if another process is to call the function."""

    @property
    def is_async(self) -> bool: ...

    @property
    def gather(self) -> Handler | None:
        """The step that is called when the children of another have finished."""

    @property
    def function(self) -> Callable[..., object]: ...

    @property
    def strict(self) -> bool:
        """Whether a payload with fields that it does not know does not fit."""

    @property
    def intake(self) -> str:
        """By what a worker says which payloads it takes for this handler."""

    @property
    def hides(self) -> bool:
        """Whether its payloads have anything that nobody is to read."""

    def secrets_in(self, payload_json: str) -> Iterable[str]:
        """Return the texts and numbers of a payload that nobody is to read."""

    def call_batch(self, context: object, items: Sequence[Any]) -> Any:
        """Call the function for many tasks; an awaitable if `is_async`."""


class Contract(Protocol):
    """What a handler promised of its outcomes."""

    @property
    def gathers(self) -> bool:
        """True if the handler has a gather step."""

    @property
    def promises_result(self) -> bool:
        """True if the type of the result is promised."""

    def write_result(self, result: object) -> object:
        """Return the result as plain JSON values, if its type is promised; raise ContractBroken if it does not fit."""

    def follow_ups_of(self, result: object) -> Sequence[NewTask]:
        """Return the follow-ups that the handler's rule makes of a result."""

    def check_earlier_step(self, continuation: NewTask | None) -> None:
        """Raise ContractBroken if a step that another step follows continues the chain."""

    def check_continuation(self, task: NewTask | None) -> None:
        """Raise ContractBroken, InvalidPayload if this may not continue the chain, or something must."""

    def check_needs(self, task: NewTask) -> None:
        """Raise ContractBroken if a task of this handler does not need what it must."""


class Program(Protocol):
    """Everything that can be done here."""

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
        """How many tasks of a key run at once, by key or pattern of keys."""

    @property
    def large(self) -> KeepsLarge | None:
        """What keeps large fields of payloads elsewhere, if anything does."""

    @property
    def lifespan(self) -> Callable[[Workplace], AbstractAsyncContextManager[object]]:
        """What a worker enters before its first task and leaves after its last."""

    @property
    def carried(self) -> Sequence[ContextVar[Any]]:
        """The context variables whose values go with a handler into its process."""

    @property
    def sinks(self) -> Sequence[EventSink]:
        """Who hears of events, and may trace."""

    @property
    def emitter(self) -> Emitter:
        """What brings events to the program's sinks."""

    @property
    def migrations(self) -> Sequence[Migrations]:
        """Those of tables of its own, without which it cannot run."""

    def check(self) -> None:
        """Raise HandlerError where something that was declared cannot work."""

    def contracts(self) -> Mapping[str, Contract]:
        """The promises of the handlers that made any, by name."""

    def middlewares_of(self, handler: str) -> Sequence[Middleware]:
        """What stands around each attempt of a handler, the outermost first."""

    def declaration(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Return the roles and the handlers as the engine stores them."""
