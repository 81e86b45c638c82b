"""The registry of one program: made by hand, passed in, no global state."""

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
    begun,
    in_plain_words,
    named,
)
from rolecall.app.decorator import TaskDecorator
from rolecall.app.handlers import (
    FunctionHandler,
    HandlerDefinition,
    HandlerSettings,
    Middleware,
    checked,
    define,
    require,
)
from rolecall.app.procedures import ProcedureDefinition, ProcedureOptions
from rolecall.app.tables import schema_check, with_others
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

__all__ = ["App"]


class App:
    """What a program can do and how: hand it to the client, which enqueues, and to the worker, which runs.

    app = App("shop")

    @app.task(role="mail", max_attempts=3)
    async def greet(ctx: Context, name: str) -> None: ...

    app.schedule("greet everybody", greet, every=timedelta(days=1), payload={"name": "all"})

    `lifespan` makes an async context manager that each worker of the app enters before its first task and
    leaves after its last: the place for what handlers share, such as an HTTP client; one that takes a parameter is
    given the worker's Workplace, and what it raises keeps the worker from starting. `middlewares` stand around
    each attempt, the first outermost; those that `requires` names must stand around every handler, in that order.
    `migrations` are those of the app's own tables: `rolecall up` and `rolecall migrate --app` apply them after ours, in
    this order, and no worker starts without them. `routers` are answered by the app's HTTP server, see `mount`.
    `checks` are made by the doctor beside its own: what they find stands among its findings, and on the overview.
    `carries` are context variables, at the top of a module, whose values go with a handler into its process; threads
    have all of them anyway. `sinks` hear of what happens to the app's tasks, see `rolecall.EventSink`. `large` keeps
    large payloads and results elsewhere, see `rolecall.results.LargeValues`; it counts for what the app includes, too,
    and that of an included app does not. `handlers` has the handlers by name.
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
        self._middlewares = checked(middlewares if large is None else (large, *middlewares))
        self._requires = checked(requires)
        self._declared = Declarations(
            lifespans=[lifespan],
            mounts=[Mount(router) for router in routers],
            checks=named(name, checks),
            carried=list(carries),
            sinks=list(sinks),
        )
        self._migrations = with_others((), migrations)
        self.clients = AppClients()
        self.handlers: Mapping[str, HandlerDefinition[..., object]] = MappingProxyType(self._declared.handlers)

    @property
    def roles(self) -> Mapping[str, RoleDefinition]:
        """The roles by name, those that only handlers name included."""
        handlers = self._declared.handlers.values()
        procedures = self._declared.procedures.values()
        named = [*(handler.role for handler in handlers), *(procedure.role for procedure in procedures)]
        implied = {role: RoleDefinition(name=role) for role in named}
        return MappingProxyType(implied | self._declared.roles)

    @property
    def procedures(self) -> Mapping[str, ProcedureDefinition]:
        """The handlers that the database runs, by name."""
        return MappingProxyType(self._declared.procedures)

    @property
    def lifespan(self) -> Callable[[Workplace], AbstractAsyncContextManager[object]]:
        """What a worker enters: the lifespans of the app and of what it includes, in this order."""
        return self._enter_lifespans

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The schedules by name."""
        return MappingProxyType(self._declared.schedules)

    @property
    def key_capacities(self) -> Mapping[str, int]:
        """How many tasks of a key run at once, by key or pattern of keys."""
        return MappingProxyType(self._declared.key_capacities)

    @property
    def carried(self) -> Sequence[ContextVar[Any]]:
        """The context variables whose values go with a handler into its process, of the app and of what it includes."""
        return tuple(self._declared.carried)

    @property
    def sinks(self) -> Sequence[EventSink]:
        """Who hears of events of the app and of what it includes, in this order."""
        return tuple(self._declared.sinks)

    def add_sink(self, sink: EventSink) -> None:
        """Let another sink hear of what happens, before the first worker or client of this process begins."""
        self._declared.require_open()
        self._declared.sinks.append(sink)

    @cached_property
    def emitter(self) -> Emitter:
        """Brings events to the log, as its level is at the first use of this, and to the sinks that the app has then.

        Worker and client of one process share it, and so each sink has one thread.
        """
        return Emitter(self.sinks, LogSink())

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The second names of payload fields, by name."""
        return MappingProxyType(self._declared.aliases)

    @property
    def constants(self) -> Mapping[str, str]:
        """What is true of every task of the app, by name."""
        return MappingProxyType(self._declared.constants)

    @property
    def mounts(self) -> Sequence[Mount]:
        """The routers of the app and of what it includes, in this order."""
        return tuple(self._declared.mounts)

    @property
    def checks(self) -> Sequence[AppCheck]:
        """The checks of the app and of what it includes, in this order; that of its migrations comes first."""
        own = [schema_check(self.name, self.migrations)] if self._migrations else []
        return (*own, *self._declared.checks)

    @property
    def migrations(self) -> Sequence[Migrations]:
        """The migrations of the app and of what it includes, each once, in this order."""
        return tuple(self._migrations)

    @property
    def task(self) -> TaskDecorator:
        """What defines a handler: `@app.task`, or with its words `@app.task(role="mail", max_attempts=3)`."""
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
            one_root=one_root,
            strict_keys=strict_keys,
            idempotent=idempotent,
        )
        self._declared.add_role(definition)
        return definition

    def keys(self, pattern: str, *, capacity: int) -> None:
        """Let so many tasks of a key run at once instead of one: of one key, or of each that begins like the pattern.

        app.keys("tenant:*", capacity=3)  # three of each tenant; the star stands for any rest
        app.keys("tenant:7", capacity=10)  # ten of this one

        Of what fits a key, the key itself counts before any pattern, and a longer pattern before a shorter one. What
        somebody sets for the same pattern later goes before this. It holds until no live worker of the app declares it,
        and is declared by workers and by clients on connections of their own. Raises InvalidDeclaration.
        """
        require_key_capacity(pattern, capacity)
        self._declared.add_key_capacity(pattern, capacity)

    def alias(self, name: str, field: str, *, key: str | None = None) -> None:
        """Give a field of payloads a second name over HTTP, as programs call it that were written for another system.

        app.alias("customer_id", "tenant", key="tenant:{tenant}")  # {"handler": "import_orders", "customer_id": 7}

        In a request for a task or a schedule it stands beside `payload` and goes into it; answers show it as a field.
        With `key`, the key that such tasks bear, lists of tasks filter by it and show it, without a look into payloads.
        What the API calls so itself cannot be one: a server of the app refuses to start. Raises InvalidDeclaration.
        """
        alias = Alias(name, field, key)
        require_alias(alias)
        self._declared.add_alias(alias)

    def constant(self, name: str, value: str) -> None:
        """Say over HTTP what is true of all tasks of the app: answers show it, requests that say otherwise are refused.

        app.constant("region", "eu")

        Raises InvalidDeclaration.
        """
        require_constant(name, value)
        self._declared.add_constant(name, value)

    def procedure(self, name: str, procedure: str, **options: Unpack[ProcedureOptions]) -> ProcedureDefinition:
        """Declare a procedure of the database as a handler; see ProcedureDefinition.

        That it exists is checked when a worker or client declares the app to the database. Raises
        InvalidDeclaration for a name that is taken.
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
        """Declare a schedule: enqueue this handler's task again and again, at an interval or as `cron` says.

        `rolecall.Schedule` tells what the words mean. Raises InvalidPayload, InvalidSchedule.
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
            **in_plain_words(options),
        )
        check_schedule(schedule)
        self._declared.add_schedule(schedule)
        return schedule

    def use(self, *middlewares: Middleware) -> None:
        """Put middlewares around each attempt of every handler, inside those that are there already."""
        self._declared.require_open()
        self._middlewares += checked(middlewares)

    def mount(self, router: Router | str, *arguments: object) -> None:
        """Let the app's HTTP server answer this router's routes too, beside Rolecall's own.

        Given as `"module:function"`, the router is what that function makes of the arguments when a server is
        built, so that workers need not import it. Each route says which scope it needs, see `rolecall.web`.
        """
        self._declared.add_mount(Mount(router, arguments))

    def include(self, other: App) -> None:
        """Take over what another app declares: handlers, roles, keys, aliases, schedules, lifespan, routers, checks,
        sinks and migrations.

        Its middlewares go on standing around its own handlers only, inside those of this app. It can declare
        nothing more from then on. Raises InvalidDeclaration where a name is taken or where the other app lacks
        middlewares that this one requires; nothing is taken over then.
        """
        other.check_middlewares(self._requires)
        other.check_middlewares()
        theirs, migrations = other._declared, with_others(self._migrations, other.migrations)
        self._declared.take_over(theirs)
        self._migrations = migrations
        self._declared.around |= {
            handler: tuple(each for each in other.middlewares_of(handler) if each is not other.large)
            for handler in theirs.runnable
        }
        theirs.included_in = self.name
        self.clients.stand_in_for(other.clients)

    def middlewares_of(self, handler: str) -> tuple[Middleware, ...]:
        """What stands around each attempt of a handler, the outermost first.

        A handler that no app defines (a procedure of the database) has those of this app.
        """
        definition = self._declared.handlers.get(handler)
        own = definition.middlewares if definition else ()
        return (*self._middlewares, *self._declared.around.get(handler, own))

    def contracts(self) -> Mapping[str, Contract]:
        """What handlers promise of results and links, by name; raises HandlerMissing, InvalidDeclaration."""
        return contracts_of(self._declared.handlers, self._declared.runnable)

    def check(self) -> None:
        """Make sure that the app is complete: workers do before they start, clients before they declare it.

        Raises HandlerMissing for a link to a handler that is not there, InvalidDeclaration for a payload type that
        no handler takes and for required middlewares that are lacking, ContractBroken for a schedule of a handler
        that may not start a chain.
        """
        self.check_middlewares()
        self.contracts()
        for schedule in self._declared.schedules.values():
            definition = self._declared.handlers.get(schedule.handler or "")
            if definition is not None:
                definition.require_entry(f"schedule {schedule.name!r}")

    def admit(self, task: NewTask) -> None:
        """Raise ContractBroken for a task that may not be enqueued: it starts no chain, or lacks what it must need."""
        definition = self._declared.handlers.get(task.handler or "")
        if definition is not None and definition.links.bind_its_tasks:
            definition.require_entry("enqueue")
            contract_of(definition, self._declared.handlers, self._declared.runnable).check_needs(task)

    def check_middlewares(self, required: Sequence[Middleware] | None = None) -> None:
        """Raise InvalidDeclaration for a handler that lacks these middlewares, by default those the app requires."""
        for handler in sorted(self._declared.runnable):
            require(self._requires if required is None else required, self.middlewares_of(handler), handler=handler)

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
                await entered.enter_async_context(begun(lifespan, workplace))
            yield
