"""The forecast for a queue whose workers serve several roles is close to the real time."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from rolecall.db.run import run
from rolecall.model.operator.capacity import RoleCapacity
from rolecall.model.tasks import NewTask
from rolecall.sql import capacity
from tests.worker.bench import Bench, until

SECONDS = 0.2
TASKS = 60
SLOTS = 4


@pytest.mark.parametrize("roles", [1, 3, 8])
async def test_forecast_of_shared_workers_is_right_within_a_factor_of_two(bench: Bench, roles: int) -> None:
    async def work() -> None:
        await asyncio.sleep(SECONDS)

    names = [f"work_{number}" for number in range(roles)]
    for name in names:
        bench.app.task(name=name, role=name)(work)
    bench.enqueue(*(NewTask(handler=name) for _ in range(TASKS) for name in names))
    [role, *_] = names

    def measure() -> RoleCapacity:
        [found] = run(bench.connection, capacity.capacity(role))
        return found

    async with bench.working(slots=SLOTS):
        await until(lambda: measure().measured_runs >= TASKS // 4)
        found, begin = measure(), monotonic()
        await until(lambda: not measure().pending_tasks, within=120)
        took = monotonic() - begin

    assert found.estimated_hours_to_drain
    assert took / 2 < found.estimated_hours_to_drain * 3_600 < took * 2
