"""Worker health: blocked loops are reported; busy slots and database outages are not mistaken for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rolecall import Worker, WorkerOptions
from rolecall.model.workers import WorkerCommand
from rolecall.worker.health import Signs, WorkerHealth, judge
from rolecall.worker.producer import Claims
from rolecall.worker.session import NO_ANSWER
from tests.outage import outage
from tests.worker.bench import PATIENCE, Bench, until

OURS = """
    select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity
    where datname = %s and application_name like 'rolecall:worker%%'
"""
DEAD = [
    (Signs(lag=31), "its event loop has been blocked for 31 s"),
    (Signs(beating=False), "its heartbeat thread has ended"),
    (Signs(behind=61), "it has claimed nothing for 61 s, although slots are free"),
]
UNREADY = [
    (Signs(problem=NO_ANSWER), NO_ANSWER),
    (Signs(problem=NO_ANSWER, behind=3_600), NO_ANSWER),
    (Signs(command=WorkerCommand.DRAIN), "it has the command to drain"),
]


@contextmanager
def working(bench: Bench) -> Iterator[Worker]:
    """Run a worker in a thread with a loop of its own."""
    worker = Worker(bench.app, bench.dsn, WorkerOptions(poll_interval=0.05, maintenance=False))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(worker.run(),))
    thread.start()
    try:
        yield worker
    finally:
        loop.call_soon_threadsafe(worker.stop)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        loop.close()


@pytest.mark.parametrize(("signs", "reason"), DEAD)
def test_worker_that_needs_a_restart_is_not_alive(signs: Signs, reason: str) -> None:
    assert judge(signs) == WorkerHealth(dead=reason)


@pytest.mark.parametrize(("signs", "reason"), UNREADY)
def test_worker_with_a_problem_a_restart_cannot_fix_is_only_unready(signs: Signs, reason: str) -> None:
    assert judge(signs) == WorkerHealth(unready=reason)


def test_short_lag_does_not_make_the_worker_unready() -> None:
    assert judge(Signs(lag=5, behind=10)).ready


async def test_blocked_loop_is_reported_while_it_is_blocked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolecall.worker.health.BLOCKED_FOR", 0.3)
    release = threading.Event()

    @bench.app.task
    async def rude() -> None:
        release.wait(2 * PATIENCE)

    bench.enqueue(rude.task())
    with working(bench) as worker:
        try:
            await until(lambda: not worker.health().alive)
            assert "its event loop has been blocked" in worker.health().reason
        finally:
            release.set()
        await until(lambda: worker.health().ready)


async def test_worker_with_all_slots_busy_is_healthy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolecall.worker.health.STUCK_FOR", -1.0)
    release = threading.Event()

    @bench.app.task
    def long() -> None:
        release.wait(2 * PATIENCE)

    bench.enqueue(*(long.task() for _ in range(3)))
    with working(bench) as worker:
        try:
            # With this limit, a producer that waits for anything but a free slot is dead while it waits.
            await until(lambda: worker.health().ready)
        finally:
            release.set()


async def test_stuck_claim_is_reported(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolecall.worker.health.STUCK_FOR", 0.3)
    release = threading.Event()

    async def take(*_: object) -> list[object]:
        while not release.is_set():
            await asyncio.sleep(0.01)
        return []

    monkeypatch.setattr(Claims, "take", take)
    with working(bench) as worker:
        try:
            await until(lambda: not worker.health().alive)
            assert "although slots are free" in worker.health().reason
        finally:
            release.set()


async def test_worker_without_the_database_is_alive_and_unready(bench: Bench) -> None:
    with working(bench) as worker:
        await until(lambda: worker.health().ready)
        with outage(bench.dsn, OURS):
            await until(lambda: worker.health() == WorkerHealth(unready=NO_ANSWER))
        await until(lambda: worker.health().ready)


async def test_worker_that_is_not_started_or_is_stopping_is_alive_and_unready(bench: Bench) -> None:
    worker = Worker(bench.app, bench.dsn)
    before = worker.health()
    worker.stop()

    assert (before.unready, worker.health().unready) == ("it has not started yet", "it is stopping")
    assert before.alive
    assert worker.health().alive
