"""Roles and handlers."""

from __future__ import annotations

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError, HandlerNotFound, InvalidPayload, UnknownRole
from rolecall.model.handlers import DeclaredHandler
from rolecall.model.hints import close_to
from rolecall.model.operator.insight import DeclaredRole, Pause
from rolecall.model.operator.misfits import find_mismatch
from rolecall.model.tasks import NewTask
from rolecall.service.arguments import role_not_found
from rolecall.service.database import Database
from rolecall.sql import insight, roles

LONGEST_PAUSE = 10 * 365.25 * 86_400


class Roles:
    """The stored roles."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[DeclaredRole]:
        """List all roles, by name."""
        return await self._database.run(insight.roles())

    async def get(self, name: str) -> DeclaredRole:
        """Return one role. Raises RoleNotFound, with a suggestion."""
        for role in await self.list():
            if role.name == name:
                return role
        raise await role_not_found(name, self._database)

    async def pause(self, name: str, seconds: float | None = None) -> Pause:
        """Pause a role, for a number of seconds or until `resume`. Running tasks continue.

        Raises RoleNotFound, and ConfigError for more than ten years or no time at all.
        """
        if seconds is not None and not 0 < seconds <= LONGEST_PAUSE:
            raise ConfigError(
                f"a pause must be more than 0 s and at most ten years, got {seconds:g} s",
                variable="seconds",
                value=seconds,
            )
        event = AuditEvent("roles.pause", {"role": name, "seconds": seconds})
        try:
            return await self._database.act(event, roles.pause(name, seconds, self._database.actor.name))
        except UnknownRole as error:
            raise await role_not_found(name, self._database) from error

    async def resume(self, name: str) -> bool:
        """End a role's pause. Return False if it was not paused. Raises RoleNotFound."""
        try:
            return await self._database.act(AuditEvent("roles.resume", {"role": name}), roles.resume(name))
        except UnknownRole as error:
            raise await role_not_found(name, self._database) from error


class Handlers:
    """The stored handlers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[DeclaredHandler]:
        """List all handlers, by role and name."""
        return await self._database.run(roles.list_handlers())

    async def get(self, name: str) -> DeclaredHandler:
        """Return one handler. Raises HandlerNotFound, with a suggestion."""
        for handler in await self._database.run(roles.list_handlers(name)):
            return handler
        names = await self._database.run(insight.handler_names())
        raise HandlerNotFound(f"no handler named {name!r}{close_to(name, names)}")

    async def reveal(self, name: str) -> bool:
        """Stop redacting values that only earlier declarations redacted. Return False if there were none.

        Raises HandlerNotFound.
        """
        await self.get(name)
        return bool(await self._database.act(AuditEvent("handlers.reveal", {"handler": name}), roles.reveal(name)))

    async def require_fit(self, task: NewTask) -> None:
        """Validate a task's payload with its handler's stored signature, if there is one. Raises InvalidPayload."""
        known = await self._database.run(roles.list_handlers(task.handler)) if task.handler else []
        for handler in known:
            problem = find_mismatch(task.payload, handler.signature or {})
            if problem is not None:
                raise InvalidPayload(problem, handler=handler.name)
