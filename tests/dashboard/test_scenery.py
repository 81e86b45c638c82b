"""The demo data for page tests."""

from __future__ import annotations

import pytest

from tests.dashboard.scenery import furnish
from tests.sql.engine import Engine

STATUSES = (
    "blocked", "cancelled", "completed", "failed", "parked", "ready", "retrying", "running", "scheduled", "waiting",
)  # fmt: skip


@pytest.fixture
def statuses(pool: Engine) -> list[str]:
    furnish(pool)
    return [status for (status,) in pool.rows("select distinct status from rolecall.all_tasks order by 1")]


def test_scenery_contains_a_task_of_every_status(statuses: list[str]) -> None:
    assert statuses == list(STATUSES)
