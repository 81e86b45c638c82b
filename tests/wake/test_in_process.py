"""Workers in the enqueuing program are notified by its clients, after the commit only."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from rolecall import AsyncClient, Client
from rolecall.testing.notifications.ground import hearing
from rolecall.wake.in_process import THIS_PROCESS
from rolecall.wake.transport import CANCEL_CHANNEL, WAKE_CHANNEL
from tests.worker.bench import Bench, until


async def test_what_both_clients_commit_is_heard(bench: Bench) -> None:
    async with (
        hearing(THIS_PROCESS, WAKE_CHANNEL) as wakes,
        hearing(THIS_PROCESS, CANCEL_CHANNEL) as cancels,
        AsyncClient(bench.dsn, app=bench.app) as client,
    ):
        bench.app.task(nothing)
        task = await client.enqueue("nothing")
        await until(lambda: wakes.qsize() == 1)
        with Client(bench.dsn, app=bench.app) as sync:
            sync.cancel(task.id)
        await until(lambda: cancels.qsize() == 1)


async def test_of_a_transaction_it_is_told_after_its_commit(bench: Bench) -> None:
    bench.app.task(nothing)
    async with (
        hearing(THIS_PROCESS, WAKE_CHANNEL) as wakes,
        AsyncClient(bench.dsn, app=bench.app) as client,
    ):
        await client.enqueue("nothing")
        await until(lambda: wakes.qsize() == 1)
        with suppress(RuntimeError):
            async with client.transaction() as connection:
                await client.enqueue("nothing", connection=connection)
                raise RuntimeError("rolled back")
        async with client.transaction() as connection:
            await client.enqueue("nothing", connection=connection)
            assert wakes.qsize() == 1
        await until(lambda: wakes.qsize() == 2)


async def test_of_a_callers_own_transaction_nothing_is_told(bench: Bench) -> None:
    bench.app.task(nothing)
    async with hearing(THIS_PROCESS, WAKE_CHANNEL) as wakes:
        with Client(bench.dsn, app=bench.app) as client, psycopg.connect(bench.dsn) as connection:
            client.enqueue("nothing", connection=connection)
            client.enqueue("nothing")
        await until(lambda: wakes.qsize() == 1)


async def nothing() -> None:
    """Do nothing."""
