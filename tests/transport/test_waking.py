from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from tests.worker.bench import BEATEN, SOON, Bench, until

IDLE = "select count(*) from rolecall.all_workers where idle and stopped_at is null"
LISTENING = """
select count(*) from pg_stat_activity where datname = current_database() and application_name like '%%listen'
"""
VERSION = "select xmin::text from rolecall.workers"
WRITTEN = """
select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables where schemaname = 'rolecall'
"""


async def test_notification_starts_a_task_long_before_the_poll_interval(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=60):
        await until(lambda: bench.ask(IDLE))
        await asyncio.sleep(1.2)  # past the quick polls
        (task_id,) = bench.enqueue(work.task())
        await bench.finished(task_id)


async def test_worker_without_listening_polls(bench: Bench) -> None:

    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(listen=False, poll_interval=0.3):
        await until(lambda: bench.ask(IDLE))
        await asyncio.sleep(1.2)  # past the quick polls
        (task_id,) = bench.enqueue(work.task())
        await bench.finished(task_id)

    assert not bench.ask(LISTENING)


async def test_task_that_becomes_due_starts_on_time(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    (task_id,) = bench.enqueue(work.task().options(after=2.0))
    async with bench.working(poll_interval=60):
        (task,) = await bench.finished(task_id)

    assert task.started_at is not None
    assert 0 <= (task.started_at - task.scheduled_for).total_seconds() < SOON


async def test_freed_key_is_noticed_by_the_worker_that_freed_it(bench: Bench) -> None:
    @bench.app.task
    async def work(n: int) -> None:
        await asyncio.sleep(0.05)

    ids = bench.enqueue(*(work.task(n=n).options(key="store:1") for n in range(10)))
    async with bench.working(slots=4, listen=False, poll_interval=60):
        await bench.finished(*ids)


async def test_light_load_writes_no_idle_marks(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=60):
        await until(lambda: bench.ask(IDLE) and bench.ask(BEATEN))
        # A first heartbeat that crossed the mark is followed by another one.
        await _stands_still(lambda: bench.ask(VERSION), seconds=2.5)
        before = bench.ask(VERSION)
        for _ in range(20):
            (task_id,) = bench.enqueue(work.task())
            await bench.finished(task_id)

        assert bench.ask(VERSION) == before


async def test_idle_worker_writes_nothing(bench: Bench) -> None:

    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=0.2, maintenance=True):
        await until(lambda: bench.ask(IDLE) and bench.ask(BEATEN))
        await _stands_still(lambda: bench.ask(WRITTEN), seconds=2.5)


async def _stands_still(number: Callable[[], object], seconds: float) -> None:
    """Wait until a number has not changed for a while; the server's counters lag by a second."""
    seen, since = number(), monotonic()

    def stood() -> bool:
        nonlocal seen, since
        now = number()
        if now != seen:
            seen, since = now, monotonic()
        return monotonic() - since > seconds

    await until(stood)


async def test_busy_worker_does_not_request_notifications(bench: Bench) -> None:
    enough = asyncio.Event()

    @bench.app.task
    async def work() -> None:
        await enough.wait()

    bench.enqueue()
    # A mark younger than a second stays until the next heartbeat.
    async with bench.working(heartbeat_interval=1):
        await until(lambda: bench.ask(IDLE))
        (task_id,) = bench.enqueue(work.task())
        await until(lambda: not bench.ask(IDLE))
        enough.set()
        await bench.finished(task_id)
        await until(lambda: bench.ask(IDLE))


async def test_lost_listener_connection_loses_no_task(bench: Bench) -> None:

    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=60):
        for _ in range(5):
            bench.ask(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity "
                "where datname = current_database() and application_name like 'rolecall:worker:listen:%%'"
            )
            (task_id,) = bench.enqueue(work.task())
            await bench.finished(task_id)
