"""An outcome blocked by an open transaction delays no other outcome and is stored after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rolecall import Context
from rolecall.db.connect import connect
from tests.worker.bench import PATIENCE, Bench, until

LOCK = "select from rolecall.tasks where id = %s for update"
BUSY = "cannot be stored yet"
TELLS_OF_START = """\
select true from pg_stat_activity
where application_name like 'rolecall:worker:settle:%%' and query ~ 'rolecall.start' and datname = current_database()
    and (select count(*) from rolecall.tasks) = 1
"""


@contextmanager
def holding(bench: Bench, task_id: int) -> Iterator[None]:
    """Lock a task's row in an open transaction."""
    with connect(bench.dsn, "somebody") as somebody, somebody.transaction():
        somebody.execute(LOCK, (task_id,))
        yield


async def test_outcome_blocked_by_a_locked_parent_delays_no_other_outcome(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    going, enough, began = asyncio.Event(), asyncio.Event(), []

    @bench.app.task
    async def child() -> None:
        began.append("child")
        going.set()
        await enough.wait()

    @bench.app.task
    async def parent(ctx: Context) -> None:
        ctx.spawn(child.task())

    @bench.app.task
    async def other() -> None:
        pass

    [above] = bench.enqueue(parent.task())

    async with bench.working(slots=4):
        await asyncio.wait_for(going.wait(), PATIENCE)
        below = bench.ask("select id from rolecall.tasks where parent_id = %s", above)
        with holding(bench, above):
            enough.set()
            await until(lambda: BUSY in caplog.text)
            for _ in range(3):
                await bench.finished(*bench.enqueue(*(other.task() for _ in range(10))))
            assert bench.task(below).state == "running"
        [up, down] = await bench.finished(above, below)

    assert (up.state, down.state, down.attempt, began) == ("completed", "completed", 1, ["child"])


async def test_outcome_delayed_by_an_open_transaction_is_stored_before_the_worker_exits(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    going, enough = asyncio.Event(), asyncio.Event()

    @bench.app.task
    async def work() -> None:
        going.set()
        await enough.wait()

    [task_id] = bench.enqueue(work.task())

    async with bench.working() as worker:
        await asyncio.wait_for(going.wait(), PATIENCE)
        with holding(bench, task_id):
            enough.set()
            await until(lambda: BUSY in caplog.text)
            worker.stop()

    assert bench.task(task_id).state == "completed"


async def test_start_of_a_locked_task_is_recorded_later(bench: Bench) -> None:
    going, enough = asyncio.Event(), asyncio.Event()
    locked = connect(bench.dsn, "somebody")

    @bench.app.task
    async def work(n: int) -> None:
        if n == 99:
            locked.execute("begin")
            locked.execute(LOCK, (ids[-1],))
            going.set()
            await enough.wait()

    ids = bench.enqueue(*(work.task(n=n) for n in range(100)))

    async with bench.working(slots=1):
        await asyncio.wait_for(going.wait(), PATIENCE)
        # A task of a free slot is marked by its claim; others are reported by the completer.
        await until(lambda: bench.task(ids[-1]).started_at or bench.ask(TELLS_OF_START))
        locked.close()
        await until(lambda: bench.task(ids[-1]).started_at)
        enough.set()
        await bench.finished(*ids)
