"""The registry of one program: made by hand, passed in, no global state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from types import MappingProxyType
from typing import ParamSpec, TypeVar, overload

from rolecall.app.durations import Duration, in_seconds
from rolecall.app.handlers import HandlerDefinition, HandlerSettings, define
from rolecall.app.roles import RoleDefinition
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.retry import RetryPolicy
from rolecall.model.schedules import Schedule

__all__ = ["App"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Lifespan = Callable[[], AbstractAsyncContextManager[object]]


class App:
    """What a program can do and how: hand it to the client, which enqueues, and to the worker, which runs.

    app = App("shop")

    @app.task(role="mail", max_attempts=3)
    async def greet(ctx: Context, name: str) -> None: ...

    app.schedule("greet everybody", greet, every=timedelta(days=1), payload={"name": "all"})

    `lifespan` makes an async context manager that each worker of the app enters before its first task and
    leaves after its last: the place for what handlers share, such as an HTTP client.
    """

    def __init__(self, name: str, *, lifespan: Lifespan = nullcontext) -> None:
        self.name = name
        self.lifespan = lifespan
        self._handlers: dict[str, HandlerDefinition[..., object]] = {}
        self._roles: dict[str, RoleDefinition] = {}
        self._schedules: dict[str, Schedule] = {}

    @property
    def handlers(self) -> Mapping[str, HandlerDefinition[..., object]]:
        """The handlers by name."""
        return MappingProxyType(self._handlers)

    @property
    def roles(self) -> Mapping[str, RoleDefinition]:
        """The roles by name, those that only handlers name included."""
        implied = {handler.role: RoleDefinition(name=handler.role) for handler in self._handlers.values()}
        return MappingProxyType(implied | self._roles)

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The schedules by name."""
        return MappingProxyType(self._schedules)

    @overload
    def task(self, name: Callable[P, R]) -> HandlerDefinition[P, R]: ...

    @overload
    def task(  # sizes: each is a word of the declaration
        self,
        name: str | None = None,
        *,
        role: str | None = None,
        retry: RetryPolicy | None = None,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        lease: Duration | None = None,
        batch: int | None = None,
        description: str | None = None,
    ) -> Callable[[Callable[P, R]], HandlerDefinition[P, R]]: ...

    def task(  # sizes: each is a word of the declaration
        self,
        name: Callable[P, R] | str | None = None,
        *,
        role: str | None = None,
        retry: RetryPolicy | None = None,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        lease: Duration | None = None,
        batch: int | None = None,
        description: str | None = None,
    ) -> HandlerDefinition[P, R] | Callable[[Callable[P, R]], HandlerDefinition[P, R]]:
        """Define a handler; the function's parameters are the schema of its payload.

        What is not given: the name is the function's, the role the handler's name, the description the first
        line of the docstring, and everything else is the role's. Durations are seconds or timedeltas;
        `max_attempts` of 0 is no limit. Raises InvalidDeclaration for a signature that is no schema and for a
        name that is taken.
        """
        settings = HandlerSettings(
            role=role,
            retry=retry,
            max_attempts=max_attempts,
            timeout=timeout,
            lease=lease,
            batch=batch,
            description=description,
        )
        if callable(name):
            return self._define(name, None, settings)
        return lambda function: self._define(function, name, settings)

    def role(  # sizes: each is a word of the declaration
        self,
        name: str,
        *,
        description: str | None = None,
        lease: Duration | None = None,
        timeout: Duration | None = None,
        max_attempts: int | None = None,
        retry: RetryPolicy | None = None,
        max_payload_bytes: int | None = None,
        keep_completed: Duration | None = None,
        keep_failed: Duration | None = None,
    ) -> RoleDefinition:
        """Declare a role's settings; what is not said keeps the value that the database has."""
        definition = RoleDefinition(
            name=name,
            description=description,
            lease=lease,
            timeout=timeout,
            max_attempts=max_attempts,
            retry=retry,
            max_payload_bytes=max_payload_bytes,
            keep_completed=keep_completed,
            keep_failed=keep_failed,
        )
        _enter(self._roles, "role", name, definition)
        return definition

    def schedule(  # sizes: each is a word of the declaration
        self,
        name: str,
        handler: HandlerDefinition[..., object] | str,
        *,
        every: Duration,
        payload: Mapping[str, object] | None = None,
        priority: int = 0,
        key: str | None = None,
        enabled: bool = True,
        first_run_at: datetime | None = None,
    ) -> Schedule:
        """Declare a schedule: enqueue this handler's task again and again; raises InvalidPayload."""
        name_of_handler = handler if isinstance(handler, str) else handler.name
        definition = self._handlers.get(name_of_handler) if isinstance(handler, str) else handler
        given = dict(payload or {})
        schedule = Schedule(
            name=name,
            handler=name_of_handler,
            every=in_seconds(every) or 0.0,
            payload=definition.signature.check(given) if definition else given,
            priority=priority,
            key=key,
            enabled=enabled,
            first_run_at=first_run_at,
        )
        _enter(self._schedules, "schedule", name, schedule)
        return schedule

    def declaration(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Return the roles and the handlers as `rolecall.sql.roles.declare` takes them."""
        return (
            [role.to_json() for role in self.roles.values()],
            [handler.to_json() for handler in self._handlers.values()],
        )

    def _define(self, function: Callable[P, R], name: str | None, settings: HandlerSettings) -> HandlerDefinition[P, R]:
        definition = define(function, name, settings)
        known: HandlerDefinition[..., object] = definition
        _enter(self._handlers, "handler", definition.name, known)
        return definition


def _enter(register: dict[str, T], what: str, name: str, value: T) -> None:
    if name in register:
        raise InvalidDeclaration(f"there is already a {what} called {name!r}")
    register[name] = value
