from __future__ import annotations

import asyncio
import threading

from rolecall import Context, LostReason, Worker, WorkerOptions
from tests.worker.bench import BEATEN, PATIENCE, Bench, until


async def test_running_tasks_can_finish_within_the_grace_period(bench: Bench) -> None:
    going = asyncio.Event()

    @bench.app.task
    async def long() -> str:
        going.set()
        await asyncio.sleep(0.3)
        return "finished"

    (task_id,) = bench.enqueue(long.task())

    async with bench.working(grace=10):
        await going.wait()

    assert bench.task(task_id).result == "finished"


async def test_tasks_that_have_not_started_are_returned_without_spending_an_attempt(bench: Bench) -> None:
    quick_ones, slow_one = 30, asyncio.Event()

    @bench.app.task
    async def work(n: int) -> None:
        if n == quick_ones:
            slow_one.set()
            await asyncio.sleep(0.3)

    ids = bench.enqueue(*(work.task(n=n) for n in range(200)))

    async with bench.working(grace=10):
        await slow_one.wait()

    tasks = [bench.task(task_id) for task_id in ids]
    assert {task.state for task in tasks} == {"completed", "pending"}
    assert {task.attempt for task in tasks if task.state == "pending"} == {0}


async def test_running_tasks_are_aborted_after_the_grace_period_and_immediately_claimable(bench: Bench) -> None:
    output: list[LostReason | None] = []
    all_going = asyncio.Barrier(11)

    @bench.app.task
    async def long(ctx: Context) -> None:
        await all_going.wait()
        try:
            await asyncio.sleep(60)
        finally:
            output.append(ctx.aborted)

    ids = bench.enqueue(*(long.task() for _ in range(10)))

    async with bench.working(slots=10, grace=0.2):
        await all_going.wait()

    tasks = [bench.task(task_id) for task_id in ids]
    assert {(task.state, task.attempt) for task in tasks} == {("pending", 0)}
    assert output == [LostReason.SHUTDOWN] * 10


async def test_second_stop_ends_the_grace_period_early(bench: Bench) -> None:
    going = asyncio.Event()

    @bench.app.task
    async def long() -> None:
        going.set()
        await asyncio.sleep(60)

    (task_id,) = bench.enqueue(long.task())

    async with bench.working(grace=60) as worker:
        await going.wait()
        worker.stop()
        await asyncio.sleep(0.1)
        assert bench.task(task_id).state == "running"
        worker.stop(now=True)
        await bench.state(task_id, "pending")

    assert bench.task(task_id).attempt == 0


async def test_thread_that_never_returns_does_not_delay_the_shutdown(bench: Bench) -> None:
    going, release = threading.Event(), threading.Event()

    @bench.app.task
    def stuck() -> None:
        going.set()
        release.wait(30)

    (task_id,) = bench.enqueue(stuck.task())

    async with bench.working(grace=0.1):
        await until(going.is_set)

    release.set()
    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)


async def test_stopped_worker_is_removed_from_the_registry(bench: Bench) -> None:
    @bench.app.task
    async def nothing() -> None: ...

    bench.enqueue()
    async with bench.working(name="ada"):
        await until(lambda: bench.ask(BEATEN))

    assert bench.ask("select count(*) from rolecall.workers where stopped_at is null") == 0
    assert bench.ask("select name from rolecall.workers") == "ada"


async def test_embedding_program_stops_a_worker_by_its_event(bench: Bench) -> None:
    @bench.app.task
    async def nothing() -> None: ...

    (task_id,) = bench.enqueue(nothing.task())
    stop = asyncio.Event()
    running = asyncio.create_task(Worker(bench.app, bench.dsn, WorkerOptions()).run(stop))
    await bench.finished(task_id)

    stop.set()

    await asyncio.wait_for(running, PATIENCE)


async def test_cancelled_run_returns_its_tasks(bench: Bench) -> None:
    @bench.app.task
    async def long() -> None:
        await asyncio.sleep(60)

    (task_id,) = bench.enqueue(long.task())
    running = asyncio.create_task(Worker(bench.app, bench.dsn).run())
    await bench.state(task_id, "running")

    running.cancel()
    await asyncio.wait({running}, timeout=30)

    assert running.cancelled()
    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)


async def test_stopped_worker_leaves_no_thread_task_or_connection_behind(bench: Bench) -> None:
    @bench.app.task
    def nothing() -> None: ...

    (task_id,) = bench.enqueue(nothing.task())
    async with bench.working(maintenance=True):
        await bench.finished(task_id)

    await until(lambda: not [t for t in threading.enumerate() if t.name.startswith("rolecall")])
    await until(
        lambda: (
            not bench.ask(
                "select count(*) from pg_stat_activity where datname = current_database() "
                "and application_name like 'rolecall:worker:%%'"
            )
        )
    )
    assert not [t for t in asyncio.all_tasks() if t.get_name().startswith("rolecall")]
