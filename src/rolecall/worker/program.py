"""What a worker must know of the program whose tasks it runs; `rolecall.app` says all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from rolecall.model.schedules import Schedule


class Handler(Protocol):
    """The code that does tasks of one name."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def batch(self) -> int | None:
        """The most tasks that one call takes; None for a handler of single tasks."""

    @property
    def is_async(self) -> bool: ...

    @property
    def takes_context(self) -> bool: ...

    def decode(self, payload_json: str | bytes) -> Any:
        """Return what `call` takes for a task, or one item of `call_batch`; raise InvalidPayload."""

    def call(self, context: object, arguments: dict[str, Any]) -> Any:
        """Call the function for one task; an awaitable if `is_async`."""

    def call_batch(self, context: object, items: Sequence[Any]) -> Any:
        """Call the function for many tasks; an awaitable if `is_async`."""


class Program(Protocol):
    """Everything that can be done here."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by name."""

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The schedules by name."""

    @property
    def lifespan(self) -> Callable[[], AbstractAsyncContextManager[object]]:
        """What a worker enters before its first task and leaves after its last."""

    def declaration(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Return the roles and the handlers as the engine stores them."""
