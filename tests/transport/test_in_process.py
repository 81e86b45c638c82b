"""Workers in the enqueuing program are notified by its clients, after the commit only."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from rolecall import AsyncClient, Client
from rolecall.testing.notifications.ground import collect_payloads
from rolecall.transport.in_process import THIS_PROCESS
from rolecall.transport.transport import CANCEL_CHANNEL, WAKE_CHANNEL
from tests.worker.bench import Bench, until


async def test_commits_of_both_clients_are_notified(bench: Bench) -> None:
    async with (
        collect_payloads(THIS_PROCESS, WAKE_CHANNEL) as wakes,
        collect_payloads(THIS_PROCESS, CANCEL_CHANNEL) as cancels,
        AsyncClient(bench.dsn, app=bench.app) as client,
    ):
        bench.app.task(nothing)
        task = await client.enqueue("nothing")
        await until(lambda: wakes.qsize() == 1)
        with Client(bench.dsn, app=bench.app) as sync:
            sync.cancel(task.id)
        await until(lambda: cancels.qsize() == 1)


async def test_transaction_is_notified_after_its_commit(bench: Bench) -> None:
    bench.app.task(nothing)
    async with (
        collect_payloads(THIS_PROCESS, WAKE_CHANNEL) as wakes,
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


async def test_callers_own_transaction_sends_no_notification(bench: Bench) -> None:
    bench.app.task(nothing)
    async with collect_payloads(THIS_PROCESS, WAKE_CHANNEL) as wakes:
        with Client(bench.dsn, app=bench.app) as client, psycopg.connect(bench.dsn) as connection:
            client.enqueue("nothing", connection=connection)
            client.enqueue("nothing")
        await until(lambda: wakes.qsize() == 1)


async def nothing() -> None:
    """Do nothing."""
