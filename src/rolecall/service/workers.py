"""What an operator may ask about workers."""

from __future__ import annotations

from rolecall.model.insight import RegisteredWorker
from rolecall.service.database import Database
from rolecall.sql import insight


class Workers:
    """The roll call."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, *, everyone: bool = False) -> list[RegisteredWorker]:
        """The active workers, the latest heard of first; `everyone` adds the stopped and the silent ones."""
        workers = await self._database.run(insight.workers())
        return [worker for worker in workers if everyone or worker.active]
