"""The App, which registers the declarations of one program. There is no global state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from contextvars import ContextVar
from functools import cached_property
from types import MappingProxyType
from typing import Any, Unpack

from rolecall.app.aliases import Alias, require_alias, require_constant
from rolecall.app.clients import AppClients
from rolecall.app.contracts import Contract, contract_of, contracts_of
from rolecall.app.declarations import (
    AppCheck,
    Check,
    Declarations,
    Lifespan,
    Mount,
    RoleDefinition,
    Router,
    ScheduleOptions,
    enter_lifespan,
    name_checks,
    schedule_arguments,
)
from rolecall.app.decorator import TaskDecorator
from rolecall.app.handlers import (
    FunctionHandler,
    HandlerDefinition,
    HandlerSettings,
    Middleware,
    define,
    require_async,
    require_middlewares,
)
from rolecall.app.procedures import ProcedureDefinition, ProcedureOptions
from rolecall.app.tables import merge_migrations, schema_check
from rolecall.db.migrations import Migrations
from rolecall.maintenance.cron import check_schedule
from rolecall.model.durations import Duration, in_seconds
from rolecall.model.keys import require_key_capacity
from rolecall.model.large import KeepsLarge
from rolecall.model.retry import RetryPolicy
from rolecall.model.schedules import Schedule
from rolecall.model.tasks import NewTask
from rolecall.model.workers import Workplace
from rolecall.telemetry import Emitter, EventSink, LogSink


class App:
    """The declarations of a program. Pass it to clients, which enqueue its tasks, and to workers, which run them.

        app = App("shop")

        @app.task(role="mail", max_attempts=3)
        async def greet(ctx: Context, name: str) -> None: ...

        app.schedule("greet everybody", greet, every=timedelta(days=1), payload={"name": "all"})

    `lifespan` returns an async context manager in which each worker runs its tasks, for shared resources such as an
    HTTP client. If it has a parameter, it gets the worker's Workplace. Its errors keep the worker from starting.
    `middlewares` wrap each attempt, the first outermost. `requires`: middlewares that every handler must have, in
    this order. `migrations` are those of the app's own tables: `rolecall up` and `rolecall migrate --app` apply
    them after Rolecall's, in this order, and workers do not start without them. `routers` are served by the app's
    HTTP server (`mount`). `checks` are run by the doctor; their findings also appear on the overview. `carries`:
    context variables, defined at the top level of a module, whose values are copied to the child processes of
    handlers (threads have them anyway). `sinks` receive events (`rolecall.EventSink`). `large` is the store for
    large payloads and results (`rolecall.results.LargeValues`), also for the handlers of included apps, whose own
    stores are not used.
    """

    def __init__(  # sizes: each is a word of the declaration
        self,
        name: str,
        *,
        lifespan: Lifespan = nullcontext,
        middlewares: Sequence[Middleware] = (),
        requires: Sequence[Middleware] = (),
        routers: Sequence[Router | str] = (),
        checks: Sequence[Check] = (),
        carries: Sequence[ContextVar[Any]] = (),
        migrations: Sequence[Migrations] = (),
        sinks: Sequence[EventSink] = (),
        large: KeepsLarge | None = None,
    ) -> None:
        self.name = name
        self.large = large
        self._middlewares = require_async(middlewares if large is None else (large, *middlewares))
        self._requires = require_async(requires)
        self._declared = Declarations(
            lifespans=[lifespan],
            mounts=[Mount(router) for router in routers],
            checks=name_checks(name, checks),
            carried=list(carries),
            sinks=list(sinks),
        )
        self._migrations = merge_migrations((), migrations)
        self.clients = AppClients()
        self.handlers: Mapping[str, HandlerDefinition[..., object]] = MappingProxyType(self._declared.handlers)

    @property
    def roles(self) -> Mapping[str, RoleDefinition]:
        """The roles by name, including those that are only named by handlers."""
        handlers = self._declared.handlers.values()
        procedures = self._declared.procedures.values()
        named = [*(handler.role for handler in handlers), *(procedure.role for procedure in procedures)]
        implied = {role: RoleDefinition(name=role) for role in named}
        return MappingProxyType(implied | self._declared.roles)

    @property
    def procedures(self) -> Mapping[str, ProcedureDefinition]:
        """The SQL handlers by name."""
        return MappingProxyType(self._declared.procedures)

    @property
    def lifespan(self) -> Callable[[Workplace], AbstractAsyncContextManager[object]]:
        """The combined lifespans of the app and its included apps, in this order."""
        return self._enter_lifespans

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The schedules by name."""
        return MappingProxyType(self._declared.schedules)

    @property
    def key_capacities(self) -> Mapping[str, int]:
        """The declared capacities by key or key pattern."""
        return MappingProxyType(self._declared.key_capacities)

    @property
    def carried(self) -> Sequence[ContextVar[Any]]:
        """The context variables that are copied to child processes, including those of included apps."""
        return tuple(self._declared.carried)

    @property
    def sinks(self) -> Sequence[EventSink]:
        """The sinks of the app and its included apps, in this order."""
        return tuple(self._declared.sinks)

    def add_sink(self, sink: EventSink) -> None:
        """Add a sink, before this process creates its first worker or client."""
        self._declared.require_open()
        self._declared.sinks.append(sink)

    @cached_property
    def emitter(self) -> Emitter:
        """Passes events to the log and to the sinks.

        Created on first use, with the log level and the sinks of that time. It is shared by the workers and clients
        of the process, so that each sink has only one thread.
        """
        return Emitter(self.sinks, LogSink())

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The field aliases by name."""
        return MappingProxyType(self._declared.aliases)

    @property
    def constants(self) -> Mapping[str, str]:
        """The constants of all tasks by name."""
        return MappingProxyType(self._declared.constants)

    @property
    def mounts(self) -> Sequence[Mount]:
        """The routers of the app and its included apps, in this order."""
        return tuple(self._declared.mounts)

    @property
    def checks(self) -> Sequence[AppCheck]:
        """The checks of the app and its included apps, in this order. The check of its migrations comes first."""
        own = [schema_check(self.name, self.migrations)] if self._migrations else []
        return (*own, *self._declared.checks)

    @property
    def migrations(self) -> Sequence[Migrations]:
        """The migrations of the app and its included apps, without duplicates, in this order."""
        return tuple(self._migrations)

    @property
    def task(self) -> TaskDecorator:
        """The decorator that declares a handler: `@app.task`, or with options `@app.task(role="mail",
        max_attempts=3)`.
        """
        return TaskDecorator(self._define)

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
        one_root: bool | None = None,
        strict_keys: bool | None = None,
        idempotent: bool | None = None,
    ) -> RoleDefinition:
        """Declare a role's settings. Omitted settings keep their value in the database."""
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
            one_root=one_root,
            strict_keys=strict_keys,
            idempotent=idempotent,
        )
        self._declared.add_role(definition)
        return definition

    def keys(self, pattern: str, *, capacity: int) -> None:
        """Set how many tasks of a key may run at once, or of each key that matches a key pattern. The default is 1.

            app.keys("tenant:*", capacity=3)  # three of each tenant
            app.keys("tenant:7", capacity=10)  # ten of this tenant

        A key takes precedence over patterns, and a longer pattern over a shorter one. A capacity that an operator
        has set for the same pattern overrides this. The declaration is in effect until no live worker of the app
        declares it. Clients declare it too, unless they only share transactions. Raises InvalidDeclaration.
        """
        require_key_capacity(pattern, capacity)
        self._declared.add_key_capacity(pattern, capacity)

    def alias(self, name: str, field: str, *, key: str | None = None) -> None:
        """Give a payload field a second name over HTTP, for clients that were written for another system.

            app.alias("customer_id", "tenant", key="tenant:{tenant}")  # {"handler": "import_orders", "customer_id": 7}

        In requests for tasks and schedules, the alias is written next to `payload` and added to it; responses
        contain it as a field. With `key`, the template of these tasks' keys, lists of tasks can be filtered by it
        and show it without reading payloads. A server of the app does not start if the API uses the name itself.
        Raises InvalidDeclaration.
        """
        alias = Alias(name, field, key)
        require_alias(alias)
        self._declared.add_alias(alias)

    def constant(self, name: str, value: str) -> None:
        """Add a constant to all tasks of the app over HTTP. Responses contain it; requests with another value are
        rejected.

            app.constant("region", "eu")

        Raises InvalidDeclaration.
        """
        require_constant(name, value)
        self._declared.add_constant(name, value)

    def procedure(self, name: str, procedure: str, **options: Unpack[ProcedureOptions]) -> ProcedureDefinition:
        """Declare a stored procedure as a handler (see ProcedureDefinition).

        Workers and clients check that it exists when they declare the app to the database. Raises
        InvalidDeclaration if the name is taken.
        """
        definition = ProcedureDefinition(name=name, procedure=procedure, options=options)
        self._declared.add_procedure(definition)
        return definition

    def schedule(  # sizes: each is a word of the declaration
        self,
        name: str,
        handler: HandlerDefinition[..., object] | str,
        *,
        every: Duration | None = None,
        cron: str | None = None,
        payload: Mapping[str, object] | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Declare a schedule, which enqueues a handler's task at an interval or by a cron expression.

        `rolecall.Schedule` describes the options. Raises InvalidPayload and InvalidSchedule.
        """
        name_of_handler = handler if isinstance(handler, str) else handler.name
        definition = self._declared.handlers.get(name_of_handler) if isinstance(handler, str) else handler
        given = dict(payload or {})
        schedule = Schedule(
            name=name,
            handler=name_of_handler,
            every=in_seconds(every),
            cron=cron,
            payload=definition.signature.check(given) if definition else given,
            **schedule_arguments(options),
        )
        check_schedule(schedule)
        self._declared.add_schedule(schedule)
        return schedule

    def use(self, *middlewares: Middleware) -> None:
        """Add middlewares to every handler, inside the existing ones."""
        self._declared.require_open()
        self._middlewares += require_async(middlewares)

    def mount(self, router: Router | str, *objects: object) -> None:
        """Serve a router's routes on the app's HTTP server, next to Rolecall's own.

        Given as `"module:variable"`, the router is imported when a server is built, so workers do not import it. Each
        route declares the scope that it needs, and can take the objects by their class (`rolecall.web.Mounted`).
        """
        self._declared.add_mount(Mount(router, objects))

    def include(self, other: App) -> None:
        """Add the declarations of another app: handlers, roles, keys, aliases, schedules, lifespan, routers,
        checks, sinks and migrations.

        Its middlewares still wrap only its own handlers, inside those of this app. It cannot declare anything
        afterwards. Raises InvalidDeclaration, without adding anything, if a name is taken or the other app lacks
        middlewares that this one requires.
        """
        other.check_middlewares(self._requires)
        other.check_middlewares()
        theirs, migrations = other._declared, merge_migrations(self._migrations, other.migrations)
        self._declared.include(theirs)
        self._migrations = migrations
        self._declared.around |= {
            handler: tuple(each for each in other.middlewares_of(handler) if each is not other.large)
            for handler in theirs.runnable
        }
        theirs.included_in = self.name
        self.clients.serve_included(other.clients)

    def middlewares_of(self, handler: str) -> tuple[Middleware, ...]:
        """Return the middlewares of a handler, the outermost first.

        A SQL handler that no app declares has those of this app.
        """
        definition = self._declared.handlers.get(handler)
        own = definition.middlewares if definition else ()
        return (*self._middlewares, *self._declared.around.get(handler, own))

    def contracts(self) -> Mapping[str, Contract]:
        """Return the contracts of handlers that have one, by name. Raises HandlerMissing and InvalidDeclaration."""
        return contracts_of(self._declared.handlers, self._declared.runnable)

    def check(self) -> None:
        """Check the app as a whole. Workers do this when they start, clients before they declare it.

        Raises HandlerMissing for a link to an unknown handler, InvalidDeclaration for a payload type that no
        handler takes and for missing required middlewares, and ContractBroken for a schedule of a handler that
        cannot start a chain.
        """
        self._declared.require_run()
        self.check_middlewares()
        self.contracts()
        for schedule in self._declared.schedules.values():
            definition = self._declared.handlers.get(schedule.handler or "")
            if definition is not None:
                definition.require_entry(f"schedule {schedule.name!r}")

    def admit(self, task: NewTask) -> NewTask:
        """Return a task. Raises ContractBroken if it cannot start a chain, or lacks a required need."""
        definition = self._declared.handlers.get(task.handler or "")
        if definition is not None and definition.links.bind_its_tasks:
            definition.require_entry("enqueue")
            contract_of(definition, self._declared.handlers, self._declared.runnable).check_needs(task)
        return task

    def check_middlewares(self, required: Sequence[Middleware] | None = None) -> None:
        """Raise InvalidDeclaration for a handler that lacks these middlewares, by default those that the app
        requires.
        """
        for handler in sorted(self._declared.runnable):
            require_middlewares(
                self._requires if required is None else required, self.middlewares_of(handler), handler=handler
            )

    def declaration(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Return the roles and the handlers as `rolecall.sql.roles.declare` takes them."""
        return (
            [role.to_json() for role in self.roles.values()],
            [
                *(handler.to_json() for handler in self._declared.handlers.values()),
                *(procedure.to_json() for procedure in self._declared.procedures.values()),
            ],
        )

    def _define(
        self, function: Callable[..., Any], name: str | None, settings: HandlerSettings
    ) -> FunctionHandler[..., Any, Any]:
        definition = define(function, name, settings, self.clients)
        self._declared.add_handler(definition)
        return definition

    @asynccontextmanager
    async def _enter_lifespans(self, workplace: Workplace) -> AsyncIterator[None]:
        async with AsyncExitStack() as entered:
            for lifespan in self._declared.lifespans:
                await entered.enter_async_context(enter_lifespan(lifespan, workplace))
            yield
