from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from rolecall.db.connect import connect_async
from rolecall.db.run import run
from rolecall.sql.statement import Statement
from rolecall.transport.listener import Listener, ListenerOptions, PostgresOptions, PostgresTransport
from tests.servers import bouncing
from tests.worker.bench import PATIENCE, Bench, until

TERMINATE = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and application_name = 'rolecall:ear'
"""


class Ear:
    """A listener that records notifications, and that a test can disturb."""

    def __init__(self, bench: Bench, **options: float) -> None:
        self.heard: list[str] = []
        self.returns = 0
        self.deafness: list[Exception] = []
        self.pooled = False
        self.refusals = 0
        self._bench = bench
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self.listener = Listener(
            PostgresTransport(self._connect, self._send, PostgresOptions(**({"probe_within": 0.2} | options))),
            handlers={"rolecall_wake": self.heard.append},
            on_return=self._returned,
            on_failure=self.deafness.append,
            options=ListenerOptions(first_retry=0.05, longest_retry=0.1),
        )

    async def forget_channels(self) -> None:
        """Make the server forget the channels, like a promoted standby."""
        assert self._connection is not None
        await self._connection.execute("unlisten rolecall_wake")

    async def _connect(self) -> psycopg.AsyncConnection[tuple[Any, ...]]:
        if self.refusals:
            self.refusals -= 1
            raise OSError("no route")
        self._connection = await connect_async(self._bench.dsn, "ear")
        return self._connection

    async def _send(self, statement: Statement[None]) -> None:
        # A transaction pooler delivers no notifications: as if the probe had never been sent.
        if not self.pooled:
            run(self._bench.connection, statement)

    def _returned(self) -> None:
        self.returns += 1


@asynccontextmanager
async def listening(ear: Ear) -> AsyncIterator[None]:
    running = asyncio.create_task(ear.listener.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})


async def test_listener_receives_the_payload_of_a_notification(bench: Bench) -> None:
    ear = Ear(bench)
    async with listening(ear):
        await until(lambda: ear.listener.alive)
        bench.ask("select pg_notify('rolecall_wake', 'mail')")

        await until(lambda: ear.heard == ["mail"])


async def test_listener_reconnects_after_a_lost_connection_and_requests_a_poll(bench: Bench) -> None:
    ear = Ear(bench)
    async with listening(ear):
        await until(lambda: ear.returns == 1)
        bench.ask(TERMINATE)

        await until(lambda: ear.returns == 2 and ear.listener.alive)

        bench.ask("select pg_notify('rolecall_wake', 'mail')")
        await until(lambda: ear.heard == ["mail"])


async def test_listener_reports_its_lost_connection_once(bench: Bench) -> None:
    ear = Ear(bench)
    ear.refusals = 3
    async with listening(ear):
        await until(lambda: ear.listener.alive)

    assert list(map(str, ear.deafness)) == ["no route"]


async def test_listener_rejects_a_listen_that_never_delivers(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    ear = Ear(bench)
    ear.pooled = True
    with caplog.at_level(logging.INFO, "rolecall.transport"):
        async with listening(ear):
            await until(lambda: "nothing arrives" in caplog.text)
            assert not ear.listener.alive
            ear.pooled = False

            await until(lambda: ear.listener.alive)

    assert "Notifications arrive again" in caplog.text
    assert caplog.text.count("polling instead") == 1


async def test_listener_detects_that_the_server_lost_its_channels(bench: Bench) -> None:
    ear = Ear(bench, test_every=0.05)
    async with listening(ear):
        await until(lambda: ear.returns == 1)
        await ear.forget_channels()

        await until(lambda: ear.returns == 2)


async def test_listener_behind_a_pooler_gives_up_and_leaves_no_subscription(bench: Bench) -> None:
    with bouncing(bench.dsn, size=1) as bouncer:
        bench.dsn = bouncer.through(bench.dsn)
        ear = Ear(bench, probe_within_pooled=0.2)

        await asyncio.wait_for(ear.listener.run(), PATIENCE)

        async with await connect_async(bench.dsn, "next") as next_client:
            cursor = await next_client.execute("select pg_listening_channels()")
            left = {channel for (channel,) in await cursor.fetchall()}
        assert not left & {"rolecall_wake", "rolecall_cancel"}
        assert not ear.listener.alive
