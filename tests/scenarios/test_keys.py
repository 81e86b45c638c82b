from __future__ import annotations

import asyncio

from tests.worker.bench import Bench


async def test_two_workers_never_run_two_tasks_of_one_key_concurrently(bench: Bench) -> None:
    active, most = 0, 0

    @bench.app.task
    async def work(store: int) -> None:
        nonlocal active, most
        if store == 1:
            active += 1
            most = max(most, active)
        await asyncio.sleep(0.001)
        if store == 1:
            active -= 1

    ids = bench.enqueue(
        *(work.task(store=1).options(key="store:1") for _ in range(150)),
        *(work.task(store=n).options(key=f"store:{n}") for n in range(2, 52)),
        *(work.task(store=0) for _ in range(50)),
    )

    async with bench.working(slots=4, name="first"), bench.working(slots=4, name="second"):
        tasks = await bench.finished(*ids, within=40)

    assert most == 1
    assert {(task.state, task.attempt) for task in tasks} == {("completed", 1)}
