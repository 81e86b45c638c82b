"""A client and a worker inside another process, for the duration of a block."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from rolecall import App, SchemaMissing, WorkerOptions, running
from tests.sql.engine import Connection
from tests.worker.bench import until

ROLES = "select roles from rolecall.workers"
STATES = "select state::text from rolecall.all_tasks order by id"
NOBODY = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
QUICK = WorkerOptions(slots=2, poll_interval=0.2)


class Bell:
    """An app whose handler rings, and goes on when it may."""

    def __init__(self) -> None:
        self.app = App("bell")
        self.rung, self.may_end = asyncio.Event(), asyncio.Event()

        @self.app.task
        async def ring(times: int) -> int:
            self.rung.set()
            await self.may_end.wait()
            return times

        self.ring = ring


@pytest.fixture
async def bell() -> Bell:
    return Bell()


async def test_embedded_worker_runs_tasks_enqueued_by_the_client(database: str, bell: Bell) -> None:
    bell.may_end.set()

    async with running(bell.app, database, worker=QUICK) as client:
        task = await client.wait(await client.enqueue(bell.ring, times=3), timeout=20)

    assert task.result == 3


async def test_client_without_a_worker_declares_the_app(database: str, bell: Bell, connection: Connection) -> None:
    async with running(bell.app, database) as client:
        declared = connection.execute("select name from rolecall.handlers").fetchall()
        await client.enqueue(bell.ring, times=3)

        assert connection.execute(ROLES).fetchall() == []
    assert declared == [("ring",)]
    assert connection.execute(STATES).fetchall() == [("pending",)]


async def test_running_tasks_can_finish_at_the_end_of_the_block(
    database: str, bell: Bell, connection: Connection
) -> None:
    async with running(bell.app, database, worker=QUICK) as client:
        await client.enqueue(bell.ring, times=3)
        await bell.rung.wait()
        asyncio.get_running_loop().call_later(0.1, bell.may_end.set)

    assert connection.execute(STATES).fetchall() == [("completed",)]
    await until(lambda: connection.execute(NOBODY).fetchone() == (0,))


async def test_tasks_over_the_grace_period_are_returned(database: str, bell: Bell, connection: Connection) -> None:
    async with running(bell.app, database, worker=WorkerOptions(grace=0)) as client:
        await client.enqueue(bell.ring, times=3)
        await bell.rung.wait()

    assert connection.execute("select state::text, attempt from rolecall.tasks").fetchall() == [("pending", 0)]


async def test_database_without_the_schema_prevents_the_block_from_starting(
    database: str, bell: Bell, connection: Connection
) -> None:
    connection.execute("drop schema rolecall cascade")

    with pytest.raises(SchemaMissing, match="run: rolecall migrate"):
        async with running(bell.app, database, worker=QUICK):
            pytest.fail("the block was entered")


async def test_worker_that_cannot_start_prevents_the_block_from_starting(database: str, connection: Connection) -> None:
    def lifespan() -> AbstractAsyncContextManager[None]:
        raise LookupError("the shop is closed")

    with pytest.raises(LookupError, match="the shop is closed"):
        async with running(App("closed", lifespan=lifespan), database, worker=QUICK):
            pytest.fail("the block was entered")

    await until(lambda: connection.execute(NOBODY).fetchone() == (0,))


async def test_worker_failure_is_logged_immediately_and_raised_at_the_end(
    database: str, bell: Bell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stumble = _let_the_producer_stumble(monkeypatch)

    async def serve() -> None:
        async with running(bell.app, database, worker=QUICK) as client:
            stumble.set()
            await until(lambda: _is_told(caplog))
            # The process and its client continue.
            await client.enqueue(bell.ring, times=3)

    with pytest.raises(LookupError, match="lost its way"):
        await serve()


async def test_error_in_the_block_has_precedence_over_that_of_the_worker(
    database: str, bell: Bell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stumble = _let_the_producer_stumble(monkeypatch)

    async def serve() -> None:
        async with running(bell.app, database, worker=QUICK):
            stumble.set()
            await until(lambda: _is_told(caplog))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await serve()


async def test_embedded_worker_installs_no_signal_handlers(database: str, bell: Bell) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]

    async with running(bell.app, database, worker=QUICK):
        inside = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]

    assert inside == before


async def test_environment_configures_the_worker(
    database: str, bell: Bell, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("ROLECALL_ROLES", "ring,mail")
    monkeypatch.setenv("ROLECALL_SLOTS", "7")

    async with running(bell.app, worker=True):
        served = connection.execute("select roles, slots from rolecall.workers").fetchall()

    assert served == [(["ring", "mail"], 7)]


async def test_client_and_worker_use_the_embedded_server_by_default(
    tmp_path: Path, bell: Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("ROLECALL_DATA_DIR", str(tmp_path / "data"))
    bell.may_end.set()

    async with running(bell.app, worker=True) as client:
        task = await client.wait(await client.enqueue(bell.ring, times=3), timeout=30)

    assert task.result == 3


def _let_the_producer_stumble(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    stumble = asyncio.Event()

    async def run(_: object) -> None:
        await stumble.wait()
        raise LookupError("lost its way")

    monkeypatch.setattr("rolecall.worker.producer.Producer.run", run)
    return stumble


def _is_told(caplog: pytest.LogCaptureFixture) -> bool:
    return any(record.levelno == logging.CRITICAL for record in caplog.records)
