from __future__ import annotations

import asyncio

import pytest

from rolecall.model.errors import ConfigError
from rolecall.worker.demand import Demand
from rolecall.worker.options import WorkerOptions
from tests.worker.bench import Bench, until


def test_nothing_is_prefetched_before_anything_is_known() -> None:
    assert Demand(1_000).prefetch(8) == 0


def test_slow_handlers_get_nothing_beyond_the_free_slots() -> None:
    demand = Demand(1_000)
    demand.note(2.0)

    assert demand.prefetch(8) == 0


def test_quick_handlers_get_what_a_blink_can_take_up_to_the_cap() -> None:
    demand = Demand(1_000)
    demand.note(0.01)

    assert demand.prefetch(2) == 30
    assert Demand(20).prefetch(2) == 0
    for _ in range(200):
        demand.note(0.000_01)
    assert demand.prefetch(2) == 1_000


def test_one_slow_task_counts_at_once_and_quick_ones_little_by_little() -> None:
    demand = Demand(1_000)
    demand.note(0.01)
    demand.note(1.0)
    assert demand.prefetch(1) == 0

    demand.note(0.01)
    assert demand.prefetch(1) == 0


def test_a_batch_counts_by_its_tasks() -> None:
    demand = Demand(1_000)
    demand.note(1.0, tasks=100)

    assert demand.prefetch(1) == 15


async def test_no_task_waits_behind_a_busy_slot_while_another_worker_idles(bench: Bench) -> None:
    blocked = asyncio.Event()
    ran_by: dict[int, str] = {}

    @bench.app.task
    async def work(n: int) -> None:
        ran_by[n] = "anybody"
        if n == 50:
            await blocked.wait()

    ids = bench.enqueue(*(work.task(n=n) for n in range(400)))

    async with bench.working(name="first"):
        await until(lambda: 50 in ran_by)
        async with bench.working(name="second"):
            await bench.finished(*(task_id for n, task_id in enumerate(ids) if n != 50))
            blocked.set()
        await bench.finished(*ids)

    assert {bench.task(task_id).attempt for task_id in ids} == {1}


async def test_a_prefetched_task_that_runs_on_is_marked_as_started(bench: Bench) -> None:
    going, enough = asyncio.Event(), asyncio.Event()

    @bench.app.task
    async def work(n: int) -> None:
        if n == 99:
            going.set()
            await enough.wait()

    ids = bench.enqueue(*(work.task(n=n) for n in range(100)))

    async with bench.working():
        await going.wait()
        await until(lambda: bench.task(ids[-1]).started_at)
        enough.set()
        await bench.finished(*ids)


def test_impossible_options_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="slots"):
        WorkerOptions(slots=0)
    with pytest.raises(ConfigError, match="poll_interval"):
        WorkerOptions(poll_interval=0)
