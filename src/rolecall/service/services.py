"""All services over one database."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.service.database import Database
from rolecall.service.insight import Insight
from rolecall.service.maintenance import Maintenance
from rolecall.service.roles import Roles
from rolecall.service.schedules import Schedules
from rolecall.service.tasks import Tasks
from rolecall.service.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What an operator may do, noun by noun."""

    tasks: Tasks
    roles: Roles
    workers: Workers
    schedules: Schedules
    insight: Insight
    maintenance: Maintenance

    @classmethod
    def over(cls, database: Database) -> Services:
        """Build them all; they share the database and nothing else."""
        return cls(
            tasks=Tasks(database),
            roles=Roles(database),
            workers=Workers(database),
            schedules=Schedules(database),
            insight=Insight(database),
            maintenance=Maintenance(database),
        )
