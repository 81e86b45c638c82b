"""What there is after some crawling: the demo's figures, read from the database in one statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.rows import class_row

FIGURES = """
select
    (select count(*) from storecrawl.stores) as stores,
    (select count(*) from storecrawl.stores where crawl_enabled) as enabled_stores,
    (select count(distinct store_id) from storecrawl.payloads where applied_at is not null) as refreshed_stores,
    (select count(*) from storecrawl.payloads) as payloads,
    (select count(*) from storecrawl.payloads where applied_at is null) as unapplied_payloads,
    (select count(*) from storecrawl.products) as products,
    (select count(*) from storecrawl.variants) as variants,
    (select count(*) from storecrawl.product_snapshots) as snapshots,
    (select count(*) from storecrawl.store_product_counts) as analysed_stores,
    (select coalesce(json_object_agg(state, number), '{}') from (
        select state, sum(number)::bigint as number from rolecall.counts() group by state
    ) as counted) as tasks
"""
STATES = ("completed", "failed", "cancelled", "pending", "running", "blocked", "waiting")
OPEN = ("pending", "running", "blocked", "waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How much of everything there is at one moment; `tasks` counts by state."""

    stores: int = 0
    enabled_stores: int = 0
    refreshed_stores: int = 0
    payloads: int = 0
    unapplied_payloads: int = 0
    products: int = 0
    variants: int = 0
    snapshots: int = 0
    analysed_stores: int = 0
    tasks: dict[str, int] = field(default_factory=dict)

    @property
    def open_tasks(self) -> int:
        """Tasks that have not ended."""
        return sum(self.tasks.get(state, 0) for state in OPEN)

    @property
    def ended_tasks(self) -> int:
        """Tasks that have ended, however."""
        return sum(self.tasks.values()) - self.open_tasks

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return the summary that `--json` prints; `seconds` is how long the demo has run."""
        return {
            "stores": self.stores,
            "payloads": self.payloads,
            "products": self.products,
            "variants": self.variants,
            "snapshots": self.snapshots,
            "tasks": {state: self.tasks.get(state, 0) for state in STATES},
            "seconds": round(seconds, 2),
        }

    def problems(self, expected_stores: int) -> list[str]:
        """Say what should exist after one full cycle and does not; empty when all is there."""
        claims = (
            (self.stores >= expected_stores > 0, f"{self.stores} stores were found, there are {expected_stores}"),
            (self.enabled_stores == self.refreshed_stores, f"{self.refreshed_stores} of {self.enabled_stores} stores were refreshed"),
            (self.unapplied_payloads == 0, f"{self.unapplied_payloads} payloads were not turned into products"),
            (self.products > 0 and self.variants >= self.products, f"{self.products} products have {self.variants} variants"),
            (self.snapshots >= self.products, f"{self.products} products have {self.snapshots} snapshots"),
            (self.analysed_stores == self.refreshed_stores, f"the views show {self.analysed_stores} stores"),
            (not self.tasks.get("failed"), f"{self.tasks.get('failed')} tasks failed"),
            (self.open_tasks == 0, f"{self.open_tasks} tasks are still open"),
        )
        return [problem for holds, problem in claims if not holds]


def read_figures(connection: psycopg.Connection[Any]) -> Figures:
    """Read the figures of this moment."""
    cursor = connection.cursor(row_factory=class_row(Figures))
    row = cursor.execute(FIGURES).fetchone()
    return row or Figures()
