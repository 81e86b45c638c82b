"""What an app has declared so far, by name: nothing twice, and nothing more once another app includes it."""

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
from rolecall.app.procedures import ProcedureDefinition
from rolecall.app.words import require_words
from rolecall.model.durations import Duration, in_seconds
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.findings import Finding
from rolecall.model.retry import RetryPolicy
from rolecall.model.schedules import Misfire, Overlap, Schedule
from rolecall.model.workers import Workplace
from rolecall.telemetry import EventSink

if TYPE_CHECKING:
    import psycopg

__all__ = [
    "AppCheck",
    "Check",
    "Declarations",
    "Lifespan",
    "Mount",
    "RoleDefinition",
    "Router",
    "ScheduleOptions",
    "begun",
    "in_plain_words",
    "named",
]

T = TypeVar("T")
Lifespan = (
    Callable[[], AbstractAsyncContextManager[object]] | Callable[[Workplace], AbstractAsyncContextManager[object]]
)


@dataclass(slots=True, kw_only=True)
class Declarations:
    """The registers of one app; `included_in` names the app that took them over.

    `around` holds, for included handlers only, the middlewares of the app that they came from.
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

    @property
    def runnable(self) -> frozenset[str]:
        """The names of everything that does tasks."""
        return frozenset(self.handlers) | frozenset(self.procedures)

    def add_handler(self, definition: HandlerDefinition[..., object]) -> None:
        """Enter a handler; raise InvalidDeclaration if its name is taken, and for words that say nothing."""
        require_words(f"handler {definition.name!r}", definition)
        require_words(f"handler {definition.name!r}", definition.settings)
        _refuse_taken("procedure", self.procedures, {definition.name: definition})
        self._enter("handler", self.handlers, {definition.name: definition})

    def add_procedure(self, definition: ProcedureDefinition) -> None:
        """Enter a handler that the database runs; raise InvalidDeclaration as for a handler."""
        require_words(f"procedure {definition.name!r}", definition)
        require_words(f"procedure {definition.name!r}", SimpleNamespace(**definition.options))
        _refuse_taken("handler", self.handlers, {definition.name: definition})
        self._enter("procedure", self.procedures, {definition.name: definition})

    def add_role(self, definition: RoleDefinition) -> None:
        """Enter a role; raise InvalidDeclaration if its name is taken, and for words that say nothing."""
        require_words(f"role {definition.name!r}", definition)
        self._enter("role", self.roles, {definition.name: definition})

    def add_key_capacity(self, pattern: str, capacity: int) -> None:
        """Enter the capacity of a key or pattern of keys; raise InvalidDeclaration if it has one."""
        self._enter("capacity of keys", self.key_capacities, {pattern: capacity})

    def add_alias(self, alias: Alias) -> None:
        """Enter a second name; raise InvalidDeclaration if it stands for something already."""
        _refuse_taken("constant", self.constants, {alias.name: alias})
        self._enter("alias", self.aliases, {alias.name: alias})

    def add_constant(self, name: str, value: str) -> None:
        """Enter what is true of all tasks; raise InvalidDeclaration if the name stands for something already."""
        _refuse_taken("alias", self.aliases, {name: value})
        self._enter("constant", self.constants, {name: value})

    def add_schedule(self, schedule: Schedule) -> None:
        """Enter a schedule; raise InvalidDeclaration if its name is taken."""
        self._enter("schedule", self.schedules, {schedule.name: schedule})

    def add_mount(self, mount: Mount) -> None:
        """Enter a router."""
        self.require_open()
        self.mounts.append(mount)

    def take_over(self, other: Declarations) -> None:
        """Enter all that another app declared, or raise InvalidDeclaration and enter nothing."""
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

    def require_open(self) -> None:
        """Raise InvalidDeclaration once another app has taken these over: it would not see what comes later."""
        if self.included_in is not None:
            raise InvalidDeclaration(f"app {self.included_in!r} has included this one already: declare before that")

    def _enter(self, what: str, register: dict[str, T], new: dict[str, T]) -> None:
        self.require_open()
        _refuse_taken(what, register, new)
        register.update(new)


def _refuse_taken(what: str, register: Mapping[str, object], new: Mapping[str, object]) -> None:
    for name in new:
        if name in register:
            raise InvalidDeclaration(f"there is already a {what} called {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDefinition:
    """The lane that tasks stand in; what is None keeps the value that the database has.

    `lease` and `timeout` bound one attempt; `keep_completed` and `keep_failed` say how long tasks stay then: 14 days
    both by default. Days of which no role keeps anything any more are dropped whole; what one keeps for less goes row
    by row.
    `max_attempts` of 0 is no limit. `one_root` lets one task without parent be under way at a time, its children
    as many as there are slots. With `strict_keys` at most as many tasks of a key are claimed as may run at once, so
    the outcome of a task is stored before the next one of its key begins.
    as many as there are slots. `idempotent` declares that two runs of a task at once do no harm: a task without a key
    is then returned as soon as its worker seems dead, instead of after its lease.
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
        """Return what is said, as the database takes it."""
        said = {
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
        return {name: value for name, value in said.items() if value is not None}


class Router(Protocol):
    """A router as a FastAPI application includes it; the server checks that it is one."""

    @property
    def routes(self) -> Sequence[Any]:
        """What it answers."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A router, or the name `module:function` of what makes one of the arguments when a server is built."""

    source: Router | str
    arguments: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if self.arguments and not isinstance(self.source, str):
            raise InvalidDeclaration("a router that is made already takes no arguments")
        if isinstance(self.source, str) and not all(self.source.partition(":")):
            raise InvalidDeclaration(f"{self.source!r} is not of the form module:function")

    def router(self) -> object:
        """Return the router; raise InvalidDeclaration for a name that stands for nothing that can be called."""
        if not isinstance(self.source, str):
            return self.source
        try:
            make = pkgutil.resolve_name(self.source)
        except (ImportError, AttributeError, ValueError) as error:
            raise InvalidDeclaration(f"the router {self.source!r} cannot be imported: {error}") from error
        if not callable(make):
            raise InvalidDeclaration(f"the router {self.source!r} is a {type(make).__name__}, not a function")
        return make(*self.arguments)


def begun(lifespan: Lifespan, workplace: Workplace) -> AbstractAsyncContextManager[object]:
    """Call a lifespan, with the workplace if it has a parameter for it."""
    call: Callable[..., AbstractAsyncContextManager[object]] = lifespan
    return call(workplace) if _asks(call) else call()


def _asks(call: Callable[..., Any]) -> bool:
    parameters = inspect.signature(call).parameters.values()
    return any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)


class Check(Protocol):
    """Looks at something by a connection to the pool's database, changes nothing, and returns what is wrong with it.

        async def tills(connection: psycopg.AsyncConnection[Any]) -> list[Finding]:
            return [Finding(severity=Severity.WARNING, problem="till 7 is open", advice="close it", path="/tills")]

        app = App("shop", checks=[tills])

    It is given ten seconds; one that raises is told as a finding of its own.
    """

    async def __call__(self, connection: psycopg.AsyncConnection[Any], /) -> Iterable[Finding]: ...


@dataclass(frozen=True, slots=True)
class AppCheck:
    """A check of an app's; its name begins with the app's."""

    app: str
    name: str
    look: Check


def named(app: str, checks: Sequence[Check]) -> list[AppCheck]:
    """Name an app's checks by their functions."""
    return [AppCheck(app, f"{app}.{getattr(check, '__name__', type(check).__name__)}", check) for check in checks]


class ScheduleOptions(TypedDict, total=False):
    """The words of `app.schedule`; `jitter` is in seconds or a timedelta."""

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


def in_plain_words(options: ScheduleOptions) -> dict[str, Any]:
    """Return the options as a Schedule takes them."""
    plain: dict[str, Any] = dict(options)
    if "jitter" in options:
        plain["jitter"] = in_seconds(options["jitter"])
    return plain
