"""The whole pool as metrics: what is open, role by role, whichever process does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rolecall.model.overview import RoleGauges
from rolecall.telemetry.prometheus import Collector, GaugeMetricFamily, Metric

__all__ = ["PoolMetrics"]

STATUSES = ("ready", "scheduled", "running", "blocked", "waiting")


class PoolMetrics(Collector):
    """The gauges of one answer of the database; without any, metrics without values."""

    def __init__(self, roles: Iterable[RoleGauges], now: datetime) -> None:
        self._roles = list(roles)
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """What is open by role and status, how long the oldest ready task waits, and what was tried often."""
        tasks = GaugeMetricFamily(
            "rolecall_pool_open_jobs", "Open tasks, which are also the open chains.", labels=("role", "status")
        )
        oldest = GaugeMetricFamily(
            "rolecall_pool_oldest_ready_seconds", "For how long the first ready task waits.", labels=("role",)
        )
        stuck = GaugeMetricFamily(
            "rolecall_pool_stuck_jobs", "Open tasks that have begun five attempts or more.", labels=("role",)
        )
        for role in self._roles:
            for status in STATUSES:
                tasks.add_metric((role.role, status), getattr(role, status))
            since = role.waiting_since
            oldest.add_metric((role.role,), max(0.0, (self._now - since).total_seconds()) if since else 0.0)
            stuck.add_metric((role.role,), role.stuck)
        yield from (tasks, oldest, stuck)

    def describe(self) -> Iterable[Metric]:
        """Nothing: what it is called is known without a look at it."""
        return ()
