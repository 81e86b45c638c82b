"""A batch call gets the available tasks of one handler, at most the batch size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from rolecall import BatchContext
from tests.worker.bench import PATIENCE, Bench, until


@dataclass
class Item:
    n: int


async def test_partial_batch_runs_without_waiting_to_fill(bench: Bench) -> None:
    """A batch with a single task runs without waiting for more tasks."""
    calls: list[int] = []

    @bench.app.task(batch=50)
    async def store(items: list[Item]) -> None:
        calls.append(len(items))

    [alone] = bench.enqueue(store.task(n=1))

    async with bench.working(poll_interval=PATIENCE * 100):
        await bench.finished(alone)

    assert calls == [1]


async def test_batch_contains_tasks_of_one_handler_only(bench: Bench) -> None:
    calls: list[tuple[str, set[int]]] = []

    @bench.app.task(role="work", batch=50)
    async def even(items: list[Item]) -> None:
        calls.append(("even", {item.n % 2 for item in items}))

    @bench.app.task(role="work", batch=50)
    async def odd(items: list[Item]) -> None:
        calls.append(("odd", {item.n % 2 for item in items}))

    ids = bench.enqueue(*((odd if n % 2 else even).task(n=n) for n in range(40)))

    async with bench.working(slots=2):
        await bench.finished(*ids)

    assert sorted(set(map(str, calls))) == ["('even', {0})", "('odd', {1})"]


async def test_leases_of_a_whole_batch_are_renewed_while_it_runs(bench: Bench) -> None:
    """One call renews them all: no other worker gets one of the tasks before the handler returns."""
    leases = "select array_agg(lease_until order by id) from rolecall.tasks where state = 'running'"
    renewed = asyncio.Event()

    @bench.app.task(batch=3, lease=2)
    async def store(ctx: BatchContext, items: list[Item]) -> None:
        first = bench.ask(leases)
        await until(lambda: all(now > then for now, then in zip(bench.ask(leases), first, strict=True)))
        renewed.set()

    ids = bench.enqueue(*(store.task(n=n) for n in range(3)))

    async with bench.working():
        tasks = await bench.finished(*ids)

    assert renewed.is_set()
    assert [task.attempt for task in tasks] == [1, 1, 1]
