"""What an operator may ask about roles."""

from __future__ import annotations

from rolecall.model.insight import DeclaredRole
from rolecall.service.database import Database
from rolecall.sql import insight


class Roles:
    """The roles as they are stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[DeclaredRole]:
        """All roles by name."""
        return await self._database.run(insight.roles())
