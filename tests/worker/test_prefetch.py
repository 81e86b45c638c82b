from __future__ import annotations

import asyncio
import time

import pytest

from rolecall.model.errors import ConfigError
from rolecall.worker.local_queue import Demand
from rolecall.worker.options import WorkerOptions
from tests.worker.bench import Bench, until


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Measured:
    """A demand whose slots are simulated by the test."""

    def __init__(self, slots: int = 1, cap: int = 1_000) -> None:
        self.watch = Watch()
        self.demand = Demand(cap, slots, self.watch)
        self.slots = slots

    def pass_time(self, seconds: float, *, tasks: int = 0) -> int:
        """Keep all slots busy for some seconds and finish some tasks; return the wanted number of prefetched tasks."""
        for _ in range(self.slots):
            self.demand.change_idle_slots(-1)
        self.watch.now += seconds
        self.demand.finished_count += tasks
        wanted = self.demand.prefetch()
        for _ in range(self.slots):
            self.demand.change_idle_slots(1)
        return wanted


def test_nothing_is_prefetched_before_the_first_measurement() -> None:
    assert Measured().pass_time(0.0) == 0


def test_slow_handlers_are_claimed_only_into_free_slots() -> None:
    assert Measured().pass_time(2.0, tasks=1) == 0
    assert Measured(slots=8).pass_time(2.0, tasks=8) == 0


def test_prefetch_is_a_fraction_of_the_throughput_up_to_the_cap() -> None:
    assert Measured(slots=2).pass_time(0.125, tasks=25) == 30
    assert Measured(slots=2, cap=20).pass_time(0.125, tasks=25) == 20
    assert Measured().pass_time(0.125, tasks=10_000) == 1_000


def test_prefetch_grows_to_at_most_twice_the_measured_tasks() -> None:
    """One quick task says little about the next thousand."""
    measured = Measured()

    assert [measured.pass_time(0.000_1, tasks=n) for n in (1, 2, 6)] == [2, 6, 18]


def test_slow_worker_lowers_its_prefetch_even_with_quick_handlers() -> None:
    """The handlers are quick once they start, but the machine or the loop is slow."""
    measured = Measured()
    measured.pass_time(0.25, tasks=5_000)

    assert [measured.pass_time(0.5, tasks=10), measured.pass_time(0.5, tasks=10)] == [1_000, 3]


def test_slow_task_lowers_the_prefetch_while_it_still_runs() -> None:
    measured = Measured()
    measured.pass_time(0.25, tasks=100)
    measured.pass_time(1.0)

    assert measured.pass_time(1.0) == 0


def test_idle_period_does_not_change_the_prefetch() -> None:
    measured = Measured()
    before = measured.pass_time(0.125, tasks=25)
    measured.watch.now += 3600

    assert measured.pass_time(0.0) == before == 30


def test_batch_counts_by_its_tasks() -> None:
    assert Measured().pass_time(1.0, tasks=100) == 15


async def test_task_behind_a_busy_slot_runs_on_another_idle_worker(bench: Bench) -> None:
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


async def test_long_prefetched_task_is_marked_as_started(bench: Bench) -> None:
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


def test_invalid_options_are_rejected_by_name() -> None:
    with pytest.raises(ConfigError, match="slots"):
        WorkerOptions(slots=0)
    with pytest.raises(ConfigError, match="poll_interval"):
        WorkerOptions(poll_interval=0)


async def test_worker_with_a_busy_loop_claims_no_more_than_it_can_start(bench: Bench) -> None:
    """Otherwise it would return claimed tasks and claim them again, and write more than it works."""

    async def hog() -> None:
        while True:
            time.sleep(0.03)  # noqa: ASYNC251 - this is what somebody's code does to the loop
            await asyncio.sleep(0)

    @bench.app.task
    async def work() -> None:
        # Quick, but long enough that the loop runs after each task.
        time.sleep(0.001_5)  # noqa: ASYNC251

    ids = bench.enqueue(*(work.task() for _ in range(60)))
    hogging = asyncio.create_task(hog())

    async with bench.working():
        await bench.finished(*ids)
    hogging.cancel()

    assert bench.ask("select count(*) from rolecall.task_events where kind = 'returned'") <= len(ids) / 10


async def test_tasks_with_one_attempt_and_with_several_share_a_worker(bench: Bench) -> None:
    ran: list[int] = []

    @bench.app.task
    async def often(n: int) -> None:
        ran.append(n)

    @bench.app.task(max_attempts=1)
    async def once(n: int) -> None:
        ran.append(n)

    ids = bench.enqueue(*((once if n % 10 == 0 else often).task(n=n) for n in range(500)))

    async with bench.working():
        tasks = await bench.finished(*ids)

    assert {(task.state, task.attempt) for task in tasks} == {("completed", 1)}
    assert sorted(ran) == list(range(500))
