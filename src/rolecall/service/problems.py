"""The current problems of the pool."""

from __future__ import annotations

from rolecall.model.operator.overview import Alert
from rolecall.service import alerts
from rolecall.service.database import Database
from rolecall.sql import overview


class Problems:
    """The problems of the pool, as the engine finds them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[Alert]:
        """Return an alert for each problem, the worst first."""
        found = await self._database.run(overview.problems())
        return alerts.of_problems(found)
