"""All services on one database. Each one is imported on first use, because a command needs only one or two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rolecall.config import Settings

if TYPE_CHECKING:
    from rolecall.app.declarations import AppCheck
    from rolecall.service.access import Keys, People, StartupGuard
    from rolecall.service.audit import Audit
    from rolecall.service.bulk_actions import BulkActions
    from rolecall.service.capacity import Capacity
    from rolecall.service.chains import Chains
    from rolecall.service.database import Database
    from rolecall.service.doctor import Doctor
    from rolecall.service.error_groups import ErrorGroups
    from rolecall.service.handoff import Handoff
    from rolecall.service.insight import Insight
    from rolecall.service.key_capacities import KeyCapacities
    from rolecall.service.maintenance import Maintenance
    from rolecall.service.overview import Overview
    from rolecall.service.owned_tasks import OwnedTasks
    from rolecall.service.problems import Problems
    from rolecall.service.progress import Progress
    from rolecall.service.roles import Handlers, Roles
    from rolecall.service.saved_views import SavedViews
    from rolecall.service.scaling import Scaling
    from rolecall.service.schedules import Schedules
    from rolecall.service.sessions import Sessions
    from rolecall.service.tasks import Tasks
    from rolecall.service.trees import Trees
    from rolecall.service.workers import Workers


class Services:
    """The services, created on first use.

    `settings` configure pods, notifications and the standby. `overview` is one shared with other viewers; `checks` are
    those of the app. `queries` is a database for queries, whose results may be slightly out of date.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings | None = None,
        *,
        overview: Overview | None = None,
        checks: Sequence[AppCheck] = (),
        queries: Database | None = None,
    ) -> None:
        self._database = database
        self._settings = settings or Settings()
        self._overview = overview
        self._checks = checks
        self._queries = queries or database

    @cached_property
    def tasks(self) -> Tasks:
        from rolecall.service.tasks import Tasks

        return Tasks(self._queries, self.handoff)

    @cached_property
    def error_groups(self) -> ErrorGroups:
        from rolecall.service.error_groups import ErrorGroups

        return ErrorGroups(self._queries, self.bulk_actions)

    @cached_property
    def saved_views(self) -> SavedViews:
        from rolecall.service.saved_views import SavedViews

        return SavedViews(self._queries)

    @cached_property
    def bulk_actions(self) -> BulkActions:
        from rolecall.service.bulk_actions import BulkActions

        return BulkActions(self._queries)

    @cached_property
    def handoff(self) -> Handoff:
        from rolecall.service.handoff import Handoff

        return Handoff(self._settings.handoff, self._database)

    @cached_property
    def owned_tasks(self) -> OwnedTasks:
        from rolecall.service.owned_tasks import OwnedTasks

        return OwnedTasks(self._queries)

    @cached_property
    def trees(self) -> Trees:
        from rolecall.service.trees import Trees

        return Trees(self._queries)

    @cached_property
    def chains(self) -> Chains:
        from rolecall.service.chains import Chains

        return Chains(self._queries)

    @cached_property
    def roles(self) -> Roles:
        from rolecall.service.roles import Roles

        return Roles(self._queries)

    @cached_property
    def handlers(self) -> Handlers:
        from rolecall.service.roles import Handlers

        return Handlers(self._queries)

    @cached_property
    def key_capacities(self) -> KeyCapacities:
        from rolecall.service.key_capacities import KeyCapacities

        return KeyCapacities(self._queries)

    @cached_property
    def workers(self) -> Workers:
        from rolecall.service.workers import Workers

        return Workers(self._queries)

    @cached_property
    def scaling(self) -> Scaling:
        from rolecall.service.scaling import Scaling

        return Scaling(self._database, self.workers, self._settings.scaling)

    @cached_property
    def schedules(self) -> Schedules:
        from rolecall.service.schedules import Schedules

        return Schedules(self._queries)

    @cached_property
    def insight(self) -> Insight:
        from rolecall.service.insight import Insight

        return Insight(self._queries)

    @cached_property
    def capacity(self) -> Capacity:
        from rolecall.service.capacity import Capacity

        return Capacity(self._queries)

    @cached_property
    def doctor(self) -> Doctor:
        from rolecall.service.doctor import Doctor
        from rolecall.service.notifications import NotificationSettings

        return Doctor(
            self._database,
            notifications=NotificationSettings.of(self._settings),
            checks=self._checks,
            handoff=self.handoff,
            standby_url=self._settings.database.standby_url,
        )

    @cached_property
    def problems(self) -> Problems:
        from rolecall.service.problems import Problems

        return Problems(self._queries)

    @cached_property
    def progress(self) -> Progress:
        from rolecall.service.progress import Progress

        return Progress(self._queries)

    @cached_property
    def overview(self) -> Overview:
        from rolecall.service.overview import Overview

        return self._overview or Overview(self._database, checks=self._checks, handoff=self.handoff)

    @cached_property
    def maintenance(self) -> Maintenance:
        from rolecall.service.maintenance import Maintenance

        return Maintenance(self._database)

    @cached_property
    def audit(self) -> Audit:
        from rolecall.service.audit import Audit

        return Audit(self._queries)

    @cached_property
    def keys(self) -> Keys:
        from rolecall.service.access import Keys

        return Keys(self._database)

    @cached_property
    def people(self) -> People:
        from rolecall.service.access import People

        return People(self._database)

    @cached_property
    def sessions(self) -> Sessions:
        from rolecall.service.sessions import Sessions

        return Sessions(self._database)

    @cached_property
    def startup_guard(self) -> StartupGuard:
        from rolecall.service.access import StartupGuard

        return StartupGuard(self._database)
