"""Metrics of all tasks, duties and problems, read from the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rolecall.model.operator.doctor import DutyState
from rolecall.model.operator.overview import Alert, RoleGauges
from rolecall.model.operator.problems import ProblemKind
from rolecall.telemetry.prometheus import Collector, GaugeMetricFamily, Metric

STATUSES = ("ready", "scheduled", "running", "blocked", "waiting")


class PoolMetrics(Collector):
    """Gauges from one snapshot of the database. Without a snapshot, metrics have no values."""

    def __init__(
        self,
        roles: Iterable[RoleGauges],
        now: datetime,
        duties: Iterable[DutyState] = (),
        alerts: Iterable[Alert] | None = None,
    ) -> None:
        self._roles = list(roles)
        self._duties = list(duties)
        self._alerts = None if alerts is None else list(alerts)
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """Yield the open tasks by role, the state of maintenance duties, and the current problems."""
        yield from self._open_tasks()
        yield from self._duty_runs()
        yield from self._problems()

    def _open_tasks(self) -> Iterator[Metric]:
        tasks = GaugeMetricFamily(
            "rolecall_pool_open_jobs", "Open tasks. Each open chain has one.", labels=("role", "status")
        )
        oldest = GaugeMetricFamily(
            "rolecall_pool_oldest_ready_seconds", "How long the oldest ready task has been waiting.", labels=("role",)
        )
        stuck = GaugeMetricFamily(
            "rolecall_pool_stuck_jobs", "Open tasks with at least five attempts started.", labels=("role",)
        )
        for role in self._roles:
            for status in STATUSES:
                tasks.add_metric((role.role, status), getattr(role, status))
            since = role.waiting_since
            oldest.add_metric((role.role,), max(0.0, (self._now - since).total_seconds()) if since else 0.0)
            stuck.add_metric((role.role,), role.stuck)
        yield from (tasks, oldest, stuck)

    def _duty_runs(self) -> Iterator[Metric]:
        failing = GaugeMetricFamily(
            "rolecall_pool_duty_failing_seconds",
            "How long a maintenance duty has been failing; 0 if it succeeds.",
            labels=("duty",),
        )
        success = GaugeMetricFamily(
            "rolecall_pool_duty_success_age_seconds",
            "Seconds since a maintenance duty last succeeded.",
            labels=("duty",),
        )
        for duty in self._duties:
            failing.add_metric((duty.name,), (duty.unfinished or 0.0) if duty.error is not None else 0.0)
            if duty.succeeded_at is not None:
                success.add_metric((duty.name,), max(0.0, (self._now - duty.succeeded_at).total_seconds()))
        yield from (failing, success)

    def _problems(self) -> Iterator[Metric]:
        problems = GaugeMetricFamily(
            "rolecall_pool_problems", "Current problems of the pool; 0 if there is none of a kind.", labels=("kind",)
        )
        age = GaugeMetricFamily(
            "rolecall_pool_problem_seconds", "How long the oldest problem of a kind has existed.", labels=("kind",)
        )
        for kind in ProblemKind if self._alerts is not None else ():
            found = [alert for alert in self._alerts or () if alert.kind == kind]
            problems.add_metric((kind,), len(found))
            begun = [alert.since for alert in found if alert.since is not None]
            age.add_metric((kind,), max(0.0, (self._now - min(begun)).total_seconds()) if begun else 0.0)
        yield from (problems, age)

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering does not need a snapshot."""
        return ()
