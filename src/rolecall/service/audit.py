"""The audit log."""

from __future__ import annotations

from rolecall.model.audit import Actor, AuditFilter, StoredAuditEvent
from rolecall.model.errors import ConfigError
from rolecall.service.arguments import require_page
from rolecall.service.database import Database
from rolecall.sql import audit


class Audit:
    """The audit log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def actor(self) -> Actor:
        """The actor, for apps that record their own changes."""
        return self._database.actor

    async def list(self, which: AuditFilter) -> list[StoredAuditEvent]:
        """List audit entries, newest first. The next page starts with `before` set to the last id. Raises
        ConfigError.
        """
        require_page(which.limit)
        for name, moment in (("since", which.since), ("until", which.until)):
            if moment is not None and moment.tzinfo is None:
                raise ConfigError(f"{moment.isoformat()} has no time zone", variable=name, value=moment)
        return await self._database.run(audit.list_(which))
