"""What an operator may ask about roles, and how their work is held up."""

from __future__ import annotations

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError, UnknownRole
from rolecall.model.insight import DeclaredRole, Pause
from rolecall.service.database import Database
from rolecall.service.suggestions import role_not_found
from rolecall.sql import insight, roles

LONGEST_PAUSE = 10 * 365.25 * 86_400


class Roles:
    """The roles as they are stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[DeclaredRole]:
        """All roles by name."""
        return await self._database.run(insight.roles())

    async def pause(self, name: str, seconds: float | None = None) -> Pause:
        """Let no task of the role begin, for so many seconds or until `resume`; what runs goes on.

        Raises RoleNotFound; ConfigError for a time that is not between nothing and ten years.
        """
        if seconds is not None and not 0 < seconds <= LONGEST_PAUSE:
            raise ConfigError(f"{seconds:g} s is not a pause", variable="seconds", value=seconds)
        event = AuditEvent("roles.pause", {"role": name, "seconds": seconds})
        try:
            return await self._database.act(event, roles.pause(name, seconds, self._database.actor.name))
        except UnknownRole as error:
            raise await role_not_found(name, self._database) from error

    async def resume(self, name: str) -> bool:
        """End the role's pause; False if it was not paused. Raises RoleNotFound."""
        try:
            return await self._database.act(AuditEvent("roles.resume", {"role": name}), roles.resume(name))
        except UnknownRole as error:
            raise await role_not_found(name, self._database) from error
