"""The overview: alerts, figures and history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from rolecall.config.handoff import HandoffSettings
from rolecall.model.operator.capacity import RoleCapacity, workers_needed
from rolecall.model.operator.history import Durations, History
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.model.operator.overview import Alert, PoolFigures, PoolOverview, RoleLoad, RoleOutlook
from rolecall.service import alerts
from rolecall.service.arguments import require_one_of
from rolecall.service.capacity import Capacity
from rolecall.service.database import Database
from rolecall.service.doctor import Doctor
from rolecall.service.handoff import Handoff
from rolecall.service.plots import Plots, PlotScope
from rolecall.service.problems import Problems
from rolecall.service.shared import SharedResult
from rolecall.service.workers import Workers
from rolecall.sql import overview

if TYPE_CHECKING:
    from rolecall.app.declarations import AppCheck

HOUR = 60
SPANS = (10, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR)
MINUTE = 60
LATEST_POINTS = 10
MOST_PROBLEMS = 5


class Overview:
    """The overview of the pool, shared by all viewers. Each part is cached, expensive ones for longer.

    `problems` are all problems of the pool; `alerts` has the five worst ones. `plots` are those of all scopes.
    With `patience`, callers wait at most that many seconds for expensive parts: the throughput of roles is None,
    and the doctor's findings are empty, until they are known.
    """

    def __init__(
        self,
        database: Database,
        *,
        patience: float | None = None,
        checks: Sequence[AppCheck] = (),
        handoff: Handoff | None = None,
    ) -> None:
        self._handoff = SharedResult(
            (handoff or Handoff(HandoffSettings(), database)).show, seconds=2.0, patience=patience
        )
        self._loads = SharedResult(lambda: database.run(overview.roles_now()), seconds=2.0)
        self.problems = SharedResult(Problems(database).list, seconds=5.0)
        self._workers = SharedResult(partial(Workers(database).list, everyone=True), seconds=2.0)
        self._capacity = SharedResult(Capacity(database).list, seconds=5.0, patience=patience)
        examine = partial(Doctor(database, checks=checks, handoff=handoff).examine, listening=False, problems=False)
        self._doctor = SharedResult(examine, seconds=15.0, patience=patience)
        self.plots = Plots(database, patience=patience)

    async def show(self, minutes: int = HOUR) -> PoolOverview:
        """Return the state of the pool, with a history of 10 minutes to 7 days (`SPANS`). Raises ConfigError."""
        history = await self.history(minutes)
        shown, examined = await self.alerts()
        return PoolOverview(
            alerts=shown,
            examined=examined,
            figures=await self.figures(),
            roles=await self.roles(),
            history=history,
            handoff=await self._handoff.peek(),
        )

    async def alerts(self) -> tuple[list[Alert], bool]:
        """Return the worst problems and the doctor's findings, and whether it has examined the database."""
        problems, diagnosis = await self.problems.get(), await self._doctor.peek()
        findings = alerts.of_findings(diagnosis.findings if diagnosis else ())
        return [*problems[:MOST_PROBLEMS], *findings], diagnosis is not None

    async def figures(self) -> PoolFigures:
        """Return the figures of the pool."""
        loads, active, hour = await self._loads.get(), await self._active(), await self.history()
        return _figures(loads, active, hour)

    async def roles(self) -> list[RoleOutlook]:
        """Return the state of each role."""
        loads, active, capacity = await self._loads.get(), await self._active(), await self._capacity.peek()
        known = {each.role: each for each in capacity or ()}
        return [_outlook(role, active, known.get(role.role)) for role in loads]

    async def history(self, minutes: int = HOUR) -> History:
        """Return a history of 10 minutes to 7 days (`SPANS`). Raises ConfigError."""
        require_one_of("minutes", minutes, SPANS)
        return await self.plots.history(PlotScope(minutes=minutes))

    async def workers(self) -> list[RegisteredWorker]:
        """Return all registered workers, also stopped ones."""
        return await self._workers.get()

    async def _active(self) -> list[RegisteredWorker]:
        return [worker for worker in await self._workers.get() if worker.active]


def _figures(roles: Sequence[RoleLoad], active: Sequence[RegisteredWorker], hour: History) -> PoolFigures:
    return PoolFigures(
        ended_per_second=_ended_per_second(*roles),
        waiting=_latest_waiting(hour),
        failed_last_hour=sum(point.failed or 0 for point in hour.points),
        retried_last_hour=sum(point.retried or 0 for point in hour.points),
        ready=sum(role.ready for role in roles),
        running=sum(role.running for role in roles),
        slots=sum(worker.slots for worker in active),
        workers=len(active),
    )


def _latest_waiting(hour: History) -> Durations | None:
    latest = [point.waiting for point in hour.points[-LATEST_POINTS:] if point.waiting]
    return latest[-1] if latest else None


def _outlook(role: RoleLoad, active: Sequence[RegisteredWorker], known: RoleCapacity | None) -> RoleOutlook:
    rate = known.tasks_per_worker_hour if known else None
    pending = role.ready + role.scheduled
    serving = known.active_workers if known else sum(_serves(worker, role.role) for worker in active)
    return RoleOutlook(
        role=role.role,
        paused=role.paused,
        ready=role.ready,
        scheduled=role.scheduled,
        running=role.running,
        waiting_since=role.waiting_since,
        ended_per_second=_ended_per_second(role),
        workers=serving,
        hours_to_drain=0.0 if not pending else pending / (rate * serving) if rate and serving else None,
        workers_needed=workers_needed(pending, rate, 1),
    )


def _serves(worker: RegisteredWorker, role: str) -> bool:
    return worker.command is None and (not worker.roles or role in worker.roles)


def _ended_per_second(*roles: RoleLoad) -> float | None:
    ended = [role.ended for role in roles if role.ended is not None]
    return sum(ended) / MINUTE if ended else None
