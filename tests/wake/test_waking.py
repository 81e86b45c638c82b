from __future__ import annotations

import asyncio
from time import monotonic

from tests.worker.bench import Bench, until

IDLE = "select count(*) from rolecall.workers where idle and stopped_at is null"
BEATEN = "select count(*) from rolecall.workers where heartbeat_at > started_at"


async def test_a_notification_starts_a_task_long_before_the_poll_interval(bench: Bench) -> None:
    """covers SPEC 000-14"""

    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=60):
        await until(lambda: bench.ask(IDLE))
        await asyncio.sleep(1.2)  # past the quick polls
        began = monotonic()
        (task_id,) = bench.enqueue(work.task())
        await bench.finished(task_id)

    assert monotonic() - began < 1


async def test_without_listening_it_polls(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(listen=False, poll_interval=0.3):
        await until(lambda: bench.ask(IDLE))
        await asyncio.sleep(1.2)
        (task_id,) = bench.enqueue(work.task())
        await bench.finished(task_id, within=1.5)

    assert not bench.ask("select count(*) from pg_stat_activity where application_name like '%%listen'")


async def test_a_task_that_becomes_due_is_not_late(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    (task_id,) = bench.enqueue(work.task().options(after=2.0))
    began = monotonic()
    async with bench.working(poll_interval=60):
        await bench.finished(task_id)

    assert 1.9 < monotonic() - began < 2.6


async def test_a_freed_key_is_noticed_by_the_worker_that_freed_it(bench: Bench) -> None:
    @bench.app.task
    async def work(n: int) -> None:
        await asyncio.sleep(0.05)

    ids = bench.enqueue(*(work.task(n=n).options(key="store:1") for n in range(10)))
    began = monotonic()
    async with bench.working(slots=4, listen=False, poll_interval=60):
        await bench.finished(*ids)

    assert monotonic() - began < 5


async def test_light_load_writes_nothing_about_idleness(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=60):
        await until(lambda: bench.ask(IDLE) and bench.ask(BEATEN))
        before = bench.ask("select xmin::text from rolecall.workers")
        for _ in range(20):
            (task_id,) = bench.enqueue(work.task())
            await bench.finished(task_id)
        after = bench.ask("select xmin::text from rolecall.workers")

    assert before == after


async def test_a_busy_worker_does_not_ask_to_be_notified(bench: Bench) -> None:
    """covers RELIABILITY F45"""
    enough = asyncio.Event()

    @bench.app.task
    async def work() -> None:
        await enough.wait()

    bench.enqueue()
    async with bench.working():
        await until(lambda: bench.ask(IDLE))
        (task_id,) = bench.enqueue(work.task())
        await until(lambda: not bench.ask(IDLE))
        enough.set()
        await bench.finished(task_id)
        await until(lambda: bench.ask(IDLE))


async def test_the_end_of_the_listeners_connection_loses_no_task(bench: Bench) -> None:
    """covers RELIABILITY F48"""

    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=60):
        for _ in range(5):
            bench.ask(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity "
                "where datname = current_database() and application_name = 'rolecall:worker:listen'"
            )
            (task_id,) = bench.enqueue(work.task())
            await bench.finished(task_id, within=3)
