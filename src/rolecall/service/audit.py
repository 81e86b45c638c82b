"""What an operator may ask about changes: who did what, and when."""

from __future__ import annotations

from rolecall.model.audit import Actor, AuditFilter, StoredAuditEvent
from rolecall.service.arguments import require_page
from rolecall.service.database import Database
from rolecall.sql import audit


class Audit:
    """The audit log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def actor(self) -> Actor:
        """Who asks: for an app that writes its own changes into the log."""
        return self._database.actor

    async def list(self, which: AuditFilter) -> list[StoredAuditEvent]:
        """A page of events, newest first; page on with `before` the last one's id. Raises ConfigError."""
        require_page(which.limit)
        return await self._database.run(audit.list_(which))
