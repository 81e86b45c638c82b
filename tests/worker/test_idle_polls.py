"""An idle worker asks Postgres whether a task is due. It does not claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from time import monotonic
from typing import Any

import pytest

from rolecall.transport.waker import QUICK_PERIOD
from rolecall.worker.producer import Claims
from tests.worker.bench import BEATEN, LISTENING, Bench, until

MANY = 10
MARKED = "select count(*) from rolecall.all_workers where idle"
UNHEARD = """
set rolecall.notify = off;
select rolecall.enqueue('work', p_handler => 'work', p_scheduled_for => rolecall.clock() + interval '{}');
reset rolecall.notify
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the claims for the given values."""
    counts = Counter[str]()

    def counting(name: str) -> Callable[..., Awaitable[Any]]:
        real = getattr(Claims, name)

        async def call(*args: Any) -> Any:
            counts[name] += 1
            return await real(*args)

        return call

    for name in ("take", "next_due"):
        monkeypatch.setattr(Claims, name, counting(name))
    return counts


async def test_idle_poll_is_one_query_and_no_claim(bench: Bench, calls: Counter[str]) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue(work.task().options(after=3_600))

    async with bench.working(poll_interval=0.05):
        await until(lambda: bench.ask(MARKED) and calls["next_due"] >= 3)
        claims, questions = calls["take"], calls["next_due"]
        await until(lambda: calls["next_due"] >= questions + 10)

        assert calls["take"] == claims


@pytest.mark.parametrize("after", ["0 s", "0.5 s"])
async def test_poll_finds_tasks_enqueued_without_a_notification(bench: Bench, calls: Counter[str], after: str) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(poll_interval=0.2):
        await until(lambda: bench.ask(BEATEN) and calls["next_due"] >= 3)
        bench.connection.execute(UNHEARD.format(after).encode())

        await until(lambda: bench.ask("select count(*) from rolecall.finished_tasks") == 1, within=5)


async def test_one_enqueue_triggers_claims_of_only_a_few_idle_workers(bench: Bench, calls: Counter[str]) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with AsyncExitStack() as workers:
        for _ in range(MANY):
            await workers.enter_async_context(bench.working(poll_interval=60))
        await until(lambda: bench.ask(MARKED) == bench.ask(LISTENING) == MANY)
        await _rests(calls)
        before = calls["take"]
        (task_id,) = bench.enqueue(work.task())
        await bench.finished(task_id)
        await _rests(calls)

        # One that has it, one more that was woken, and what these ask before they rest again; a herd would be all.
        assert 0 < calls["take"] - before < MANY


async def _rests(calls: Counter[str]) -> None:
    """Wait until nobody has asked for so long that only the poll interval is left of their waits."""
    seen, since = calls.total(), monotonic()

    def rested() -> bool:
        nonlocal seen, since
        if calls.total() != seen:
            seen, since = calls.total(), monotonic()
        return monotonic() - since > 2 * QUICK_PERIOD

    await until(rested)
