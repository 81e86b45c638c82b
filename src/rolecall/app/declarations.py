"""What an app has declared so far, by name: nothing twice, and nothing more once another app includes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TypeVar

from rolecall.app.checks import AppCheck
from rolecall.app.handlers import HandlerDefinition
from rolecall.app.lifespans import Lifespan
from rolecall.app.middlewares import Middleware
from rolecall.app.mounts import Mount
from rolecall.app.procedures import ProcedureDefinition
from rolecall.app.roles import RoleDefinition
from rolecall.app.words import require_words
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.schedules import Schedule

__all__ = ["Declarations"]

T = TypeVar("T")


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
    schedules: dict[str, Schedule] = field(default_factory=dict)
    lifespans: list[Lifespan] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    checks: list[AppCheck] = field(default_factory=list)
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
        _refuse_taken("role", self.roles, other.roles)
        _refuse_taken("capacity of keys", self.key_capacities, other.key_capacities)
        _refuse_taken("schedule", self.schedules, other.schedules)
        self.handlers |= other.handlers
        self.procedures |= other.procedures
        self.roles |= other.roles
        self.key_capacities |= other.key_capacities
        self.schedules |= other.schedules
        self.lifespans += other.lifespans
        self.mounts += other.mounts
        self.checks += other.checks

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
