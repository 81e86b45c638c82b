"""A worker that is woken without free slots wakes another."""

from __future__ import annotations

import asyncio

import pytest

from tests.worker.bench import LISTENING, Bench, until

MARKED = "select count(*) from rolecall.idle_marks where worker_id = %s"
NAMED = "select id from rolecall.workers where name = %s"
# An enqueue in between finds the busy workers idle and the idle one busy.
MISTAKEN = """\
select rolecall.set_idle_mark(id, name <> 'idle') from rolecall.workers;
{enqueue};
select rolecall.set_idle_mark(id, true) from rolecall.workers where name = 'idle';
"""


async def test_worker_woken_without_a_free_slot_wakes_another(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Covers decision 0002."""
    monkeypatch.setattr("rolecall.transport.waker.QUICK_PERIOD", 0.0)  # nobody finds it by a look of his own
    enough = asyncio.Event()
    ran: list[int] = []

    @bench.app.task
    async def work(n: int) -> None:
        ran.append(n)
        if n < 2:
            await enough.wait()

    bench.enqueue(work.task(n=0), work.task(n=1))

    async with (
        bench.working(name="one", slots=1, poll_interval=600),
        bench.working(name="two", slots=1, poll_interval=600),
    ):
        await until(lambda: len(ran) == 2)
        async with bench.working(name="idle", slots=1, poll_interval=600):
            await until(lambda: bench.ask(LISTENING) == 3 and bench.ask(MARKED, bench.ask(NAMED, "idle")))
            enqueue = 'select rolecall.enqueue_many(\'[{"role": "work", "handler": "work", "payload": {"n": 2}}]\')'
            with bench.connection.transaction():
                bench.connection.execute(MISTAKEN.format(enqueue=enqueue).encode())
            await until(lambda: 2 in ran)
            enough.set()
