"""The declarations of an app by name: without duplicates, and closed once another app includes them."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar

from rolecall.app.aliases import Alias
from rolecall.app.handlers import HandlerDefinition, Middleware
from rolecall.app.procedures import ProcedureDefinition, ProcedureOptions
from rolecall.app.words import require_valid_settings
from rolecall.model.durations import Duration, in_seconds
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.findings import Finding
from rolecall.model.hints import require_options
from rolecall.model.retry import RetryPolicy
from rolecall.model.schedules import Misfire, Overlap, Schedule
from rolecall.model.workers import Workplace
from rolecall.telemetry import EventSink

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
Lifespan = (
    Callable[[], AbstractAsyncContextManager[object]] | Callable[[Workplace], AbstractAsyncContextManager[object]]
)


@dataclass(slots=True, kw_only=True)
class Declarations:
    """The declarations of one app. `included_in` is the app that includes it.

    `runs_as`: the import path of an app that workers must run in place of those that it includes.

    The `add_` methods raise InvalidDeclaration if a name is taken, for invalid settings, and once the app is
    included. `around` has the middlewares of included apps, by their handlers.
    """

    handlers: dict[str, HandlerDefinition[..., object]] = field(default_factory=dict)
    procedures: dict[str, ProcedureDefinition] = field(default_factory=dict)
    around: dict[str, Sequence[Middleware]] = field(default_factory=dict)
    roles: dict[str, RoleDefinition] = field(default_factory=dict)
    key_capacities: dict[str, int] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    lifespans: list[Lifespan] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    checks: list[AppCheck] = field(default_factory=list)
    carried: list[ContextVar[Any]] = field(default_factory=list)
    sinks: list[EventSink] = field(default_factory=list)
    included_in: str | None = None
    runs_as: str | None = None

    @property
    def runnable(self) -> frozenset[str]:
        """The names of all handlers and SQL handlers."""
        return frozenset(self.handlers) | frozenset(self.procedures)

    def add_handler(self, definition: HandlerDefinition[..., object]) -> None:
        require_valid_settings(f"handler {definition.name!r}", definition)
        require_valid_settings(f"handler {definition.name!r}", definition.settings)
        _refuse_taken("procedure", self.procedures, {definition.name: definition})
        self._enter("handler", self.handlers, {definition.name: definition})

    def add_procedure(self, definition: ProcedureDefinition) -> None:
        require_options(definition.options, ProcedureOptions.__annotations__, "a procedure")
        require_valid_settings(f"procedure {definition.name!r}", definition)
        require_valid_settings(f"procedure {definition.name!r}", SimpleNamespace(**definition.options))
        _refuse_taken("handler", self.handlers, {definition.name: definition})
        self._enter("procedure", self.procedures, {definition.name: definition})

    def add_role(self, definition: RoleDefinition) -> None:
        require_valid_settings(f"role {definition.name!r}", definition)
        self._enter("role", self.roles, {definition.name: definition})

    def add_key_capacity(self, pattern: str, capacity: int) -> None:
        self._enter("capacity of keys", self.key_capacities, {pattern: capacity})

    def add_alias(self, alias: Alias) -> None:
        _refuse_taken("constant", self.constants, {alias.name: alias})
        self._enter("alias", self.aliases, {alias.name: alias})

    def add_constant(self, name: str, value: str) -> None:
        _refuse_taken("alias", self.aliases, {name: value})
        self._enter("constant", self.constants, {name: value})

    def add_schedule(self, schedule: Schedule) -> None:
        self._enter("schedule", self.schedules, {schedule.name: schedule})

    def add_mount(self, mount: Mount) -> None:
        self.require_open()
        self.mounts.append(mount)

    def include(self, other: Declarations) -> None:
        """Add the declarations of another app, or raise InvalidDeclaration and add nothing."""
        self.require_open()
        for taken in (other.handlers, other.procedures):
            _refuse_taken("handler", self.handlers, taken)
            _refuse_taken("procedure", self.procedures, taken)
        for named in (other.aliases, other.constants):
            _refuse_taken("alias", self.aliases, named)
            _refuse_taken("constant", self.constants, named)
        _refuse_taken("role", self.roles, other.roles)
        _refuse_taken("capacity of keys", self.key_capacities, other.key_capacities)
        _refuse_taken("schedule", self.schedules, other.schedules)
        self.handlers |= other.handlers
        self.procedures |= other.procedures
        self.roles |= other.roles
        self.key_capacities |= other.key_capacities
        self.aliases |= other.aliases
        self.constants |= other.constants
        self.schedules |= other.schedules
        self.lifespans += other.lifespans
        self.mounts += other.mounts
        self.checks += other.checks
        self.carried += other.carried
        self.sinks += other.sinks
        other.runs_as = self.runs_as

    def require_open(self) -> None:
        """Raise InvalidDeclaration if another app has included these declarations: it would miss later ones."""
        if self.included_in is not None:
            raise InvalidDeclaration(
                f"app {self.included_in!r} has already included this one: make declarations before that"
            )

    def require_run(self) -> None:
        """Raise InvalidDeclaration if workers need another app in place of this one."""
        if self.included_in is not None and self.runs_as is not None:
            raise InvalidDeclaration(f"the handlers of this app need app {self.included_in!r}: use {self.runs_as}")

    def _enter(self, what: str, register: dict[str, T], new: dict[str, T]) -> None:
        self.require_open()
        _refuse_taken(what, register, new)
        register.update(new)


def _refuse_taken(what: str, register: Mapping[str, object], new: Mapping[str, object]) -> None:
    for name in new:
        if name in register:
            raise InvalidDeclaration(f"there is already a {what} named {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDefinition:
    """The settings of a role. Settings that are None keep their value in the database.

    `lease` and `timeout` apply to one attempt. `max_attempts`: 0 = unlimited. `keep_completed` and `keep_failed`:
    how long finished tasks are kept, 14 days by default. Days from which no role keeps anything are dropped at
    once, as partitions; tasks that are kept for less time are deleted row by row. `one_root`: only one task without
    a parent runs at a time, with as many of its children as there are slots. `strict_keys`: no more tasks of a key
    are claimed than may run at once, so the outcome of a task is stored before the next task of its key starts.
    `idempotent`: running a task twice at once does no harm, so a task without a key is returned as soon as its
    worker seems dead, before its lease ends.
    """

    name: str
    description: str | None = None
    lease: Duration | None = None
    timeout: Duration | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    max_payload_bytes: int | None = None
    keep_completed: Duration | None = None
    keep_failed: Duration | None = None
    one_root: bool | None = None
    strict_keys: bool | None = None
    idempotent: bool | None = None

    def to_json(self) -> dict[str, object]:
        """Return the settings that are not None, as the engine takes them."""
        declaration = {
            "name": self.name,
            "description": self.description,
            "lease": in_seconds(self.lease),
            "timeout": in_seconds(self.timeout),
            "max_attempts": self.max_attempts,
            "retry": self.retry.to_json() if self.retry else None,
            "max_payload_bytes": self.max_payload_bytes,
            "keep_completed": in_seconds(self.keep_completed),
            "keep_failed": in_seconds(self.keep_failed),
            "one_root": self.one_root,
            "strict_keys": self.strict_keys,
            "idempotent": self.idempotent,
        }
        return {name: value for name, value in declaration.items() if value is not None}


class Router(Protocol):
    """A router that a FastAPI application can include. The server checks it."""

    @property
    def routes(self) -> Sequence[Any]:
        """The routes."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A router, or its name `module:variable`, and objects that its routes can take."""

    source: Router | str
    objects: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.source, str) and not all(self.source.partition(":")):
            raise InvalidDeclaration(f"{self.source!r} is not of the form module:variable")

    def router(self) -> object:
        """Return the router. Raises InvalidDeclaration if it cannot be imported."""
        if not isinstance(self.source, str):
            return self.source
        try:
            return pkgutil.resolve_name(self.source)
        except (ImportError, AttributeError, ValueError) as error:
            raise InvalidDeclaration(f"the router {self.source!r} cannot be imported: {error}") from error


def enter_lifespan(lifespan: Lifespan, workplace: Workplace) -> AbstractAsyncContextManager[object]:
    """Call a lifespan, with the workplace if it has a parameter for it."""
    call: Callable[..., AbstractAsyncContextManager[object]] = lifespan
    return call(workplace) if _takes_workplace(call) else call()


def _takes_workplace(call: Callable[..., Any]) -> bool:
    parameters = inspect.signature(call).parameters.values()
    return any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)


class Check(Protocol):
    """A check for the doctor: reads from the database, changes nothing, and returns the problems found.

        async def tills(connection: psycopg.AsyncConnection[Any]) -> list[Finding]:
            return [Finding(severity=Severity.WARNING, problem="till 7 is open", advice="close it", path="/tills")]

        app = App("shop", checks=[tills])

    It has ten seconds. An exception is reported as a finding.
    """

    async def __call__(self, connection: psycopg.AsyncConnection[Any], /) -> Iterable[Finding]: ...


@dataclass(frozen=True, slots=True)
class AppCheck:
    """A check of an app. Its name starts with that of the app."""

    app: str
    name: str
    look: Check


def name_checks(app: str, checks: Sequence[Check]) -> list[AppCheck]:
    """Return an app's checks, named after their functions."""
    return [AppCheck(app, f"{app}.{getattr(check, '__name__', type(check).__name__)}", check) for check in checks]


class ScheduleOptions(TypedDict, total=False):
    """The options of `app.schedule`. `jitter` is in seconds or a timedelta."""

    zone: str
    priority: int
    key: str | None
    misfire: Misfire
    overlap: Overlap
    jitter: Duration
    enabled: bool
    immutable: bool
    first_run_at: datetime | None
    formerly: str | None


def schedule_arguments(options: ScheduleOptions) -> dict[str, Any]:
    """Return the options as a Schedule takes them. Raises TypeError for an unknown one."""
    require_options(options, ScheduleOptions.__annotations__, "a schedule")
    plain: dict[str, Any] = dict(options)
    if "jitter" in options:
        plain["jitter"] = in_seconds(options["jitter"])
    return plain
