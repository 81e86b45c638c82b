"""All services over one database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolecall.app.checks import AppCheck
from rolecall.config import ScalingSettings
from rolecall.service.audit import Audit
from rolecall.service.capacity import Capacity
from rolecall.service.chains import Chains
from rolecall.service.database import Database
from rolecall.service.doctor import Doctor
from rolecall.service.entrance import Entrance
from rolecall.service.handlers import Handlers
from rolecall.service.insight import Insight
from rolecall.service.key_capacities import KeyCapacities
from rolecall.service.keys import Keys
from rolecall.service.maintenance import Maintenance
from rolecall.service.overview import Overview
from rolecall.service.people import People
from rolecall.service.progress import Progress
from rolecall.service.roles import Roles
from rolecall.service.scaling import Scaling
from rolecall.service.schedules import Schedules
from rolecall.service.tasks import Tasks
from rolecall.service.trees import Trees
from rolecall.service.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What an operator may do, noun by noun."""

    tasks: Tasks
    trees: Trees
    chains: Chains
    roles: Roles
    handlers: Handlers
    key_capacities: KeyCapacities
    workers: Workers
    scaling: Scaling
    schedules: Schedules
    insight: Insight
    capacity: Capacity
    doctor: Doctor
    progress: Progress
    overview: Overview
    maintenance: Maintenance
    audit: Audit
    keys: Keys
    people: People
    entrance: Entrance

    @classmethod
    def over(
        cls,
        database: Database,
        scaling: ScalingSettings | None = None,
        overview: Overview | None = None,
        listen_dsn: str | None = None,
        checks: Sequence[AppCheck] = (),
    ) -> Services:
        """Build them all; they share the database and nothing else. `scaling` says which pods are the workers',
        `overview` is one that others look at too, `listen_dsn` is the way for notifications where they have their own,
        `checks` are those of the app.
        """
        return cls(
            tasks=Tasks(database),
            trees=Trees(database),
            chains=Chains(database),
            roles=Roles(database),
            handlers=Handlers(database),
            key_capacities=KeyCapacities(database),
            workers=Workers(database),
            scaling=Scaling(database, Workers(database), scaling or ScalingSettings()),
            schedules=Schedules(database),
            insight=Insight(database),
            capacity=Capacity(database),
            doctor=Doctor(database, listen_dsn=listen_dsn, checks=checks),
            progress=Progress(database),
            overview=overview or Overview(database, checks=checks),
            maintenance=Maintenance(database),
            audit=Audit(database),
            keys=Keys(database),
            people=People(database),
            entrance=Entrance(database),
        )
