"""The demo's figures, read from the database in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.rows import class_row

from storecrawl.demo.database import Connection

# Cheap enough to be run often: snapshots, of which there are millions after a day, are counted by payload.
FIGURES = """
with open_tasks as (
    select handler, state, status, error, claimed_at
    from rolecall.all_tasks where finished_at is null and role = any(%(roles)s)
)
select
    (select count(*) from storecrawl.stores) as stores,
    (select count(distinct store_id) from storecrawl.payloads where applied_at is not null) as refreshed_stores,
    (select count(*) from storecrawl.payloads) as payloads,
    (select count(*) from storecrawl.products) as products,
    (select count(*) from storecrawl.variants) as variants,
    (select coalesce(sum(applied_count), 0) from storecrawl.payloads)::bigint as snapshots,
    (select coalesce(json_object_agg(state, number), '{}') from (
        select state, sum(number)::bigint as number
        from rolecall.counts() where role = any(%(roles)s) group by state
    ) as counted) as tasks,
    (select coalesce(json_object_agg(handler, number), '{}') from (
        select handler, count(*) as number from open_tasks where state = 'running' group by handler order by handler
    ) as running) as running,
    (select count(*) from open_tasks where status = 'retrying') as retrying,
    (select handler || ': ' || error from open_tasks where error is not null
     order by claimed_at desc nulls last limit 1) as trouble,
    (select extract(epoch from min(next_run_at) - clock_timestamp())::float8
     from rolecall.schedules where enabled and role = any(%(roles)s)) as idle_seconds
"""
STATES = ("completed", "failed", "cancelled", "pending", "running", "blocked", "waiting")
OPEN = ("pending", "running", "blocked", "waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All counts at one time.

    `tasks` counts by state, `running` by handler. `retrying` tasks wait for another attempt; `trouble` is the error
    of the latest of them. The next schedule is due in `idle_seconds`, None if there are none.
    """

    stores: int = 0
    refreshed_stores: int = 0
    payloads: int = 0
    products: int = 0
    variants: int = 0
    snapshots: int = 0
    tasks: dict[str, int] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)
    retrying: int = 0
    trouble: str | None = None
    idle_seconds: float | None = None

    @property
    def open_tasks(self) -> int:
        return sum(self.tasks.get(state, 0) for state in OPEN)

    @property
    def ended_tasks(self) -> int:
        """Completed, failed and cancelled tasks."""
        return sum(self.tasks.values()) - self.open_tasks

    @property
    def failed_tasks(self) -> int:
        return self.tasks.get("failed", 0)

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return the summary that `--json` prints; `seconds` is the duration of the demo."""
        return {
            "stores": self.stores,
            "payloads": self.payloads,
            "products": self.products,
            "variants": self.variants,
            "snapshots": self.snapshots,
            "tasks": {state: self.tasks.get(state, 0) for state in STATES},
            "seconds": round(seconds, 2),
        }


def read_figures(connection: Connection, roles: Sequence[str]) -> Figures:
    """Read the current figures; only tasks of these roles count."""
    cursor = connection.cursor(row_factory=class_row(Figures))
    row = cursor.execute(FIGURES, {"roles": list(roles)}).fetchone()
    return row or Figures()
