"""A handler completes its task in its own transaction, which any library may have opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import psycopg
import psycopg2
import pytest
import sqlalchemy
from django.db import connections, transaction
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from rolecall import Context, immediate
from tests.client.doors import django_settings, uri_of, url_of
from tests.worker.bench import Bench, until

WRITTEN = "insert into ledger values ('written')"
LEDGER = "create table ledger (line text)"
COMPLETING = "select count(*) from rolecall.completing_sessions()"
RENEWED_SINCE = """
    select count(*) from pg_stat_activity
    where query like '%%rolecall.renew(%%' and query_start > %s and state = 'idle' and pid <> pg_backend_pid()
"""


@asynccontextmanager
async def of_asyncpg(dsn: str) -> AsyncIterator[Any]:
    own = await asyncpg.connect(uri_of(dsn))
    try:
        async with own.transaction():
            await own.execute(WRITTEN)
            yield own
    finally:
        await own.close()


@asynccontextmanager
async def of_an_async_session(dsn: str) -> AsyncIterator[Any]:
    engine = create_async_engine(url_of(dsn, "asyncpg"))
    try:
        async with AsyncSession(engine) as session, session.begin():
            await (await session.connection()).execute(sqlalchemy.text(WRITTEN))
            yield session
    finally:
        await engine.dispose()


@asynccontextmanager
async def of_psycopg_async(dsn: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(dsn) as own:
        await own.execute(WRITTEN)
        yield own


@contextmanager
def of_psycopg(dsn: str) -> Iterator[Any]:
    with psycopg.connect(dsn) as own:
        own.execute(WRITTEN)
        yield own


@contextmanager
def of_psycopg2(dsn: str) -> Iterator[Any]:
    own = psycopg2.connect(dsn)
    try:
        with own, own.cursor() as cursor:
            cursor.execute(WRITTEN)
            yield own
    finally:
        own.close()


@contextmanager
def of_a_session(dsn: str) -> Iterator[Any]:
    engine = sqlalchemy.create_engine(url_of(dsn, "psycopg"))
    try:
        with Session(engine) as session, session.begin():
            session.execute(sqlalchemy.text(WRITTEN))
            yield session
    finally:
        engine.dispose()


@contextmanager
def of_django(dsn: str) -> Iterator[Any]:
    connections.settings["default"] = django_settings(dsn)
    own = connections["default"]
    try:
        with transaction.atomic():
            with own.cursor() as cursor:
                cursor.execute(WRITTEN)
            yield own
    finally:
        own.close()
        del connections["default"]


ASYNC = [of_asyncpg, of_an_async_session, of_psycopg_async]
SYNC = [of_psycopg, of_psycopg2, of_a_session, of_django]


@pytest.mark.parametrize("opened", ASYNC)
async def test_task_completes_in_its_handlers_own_async_transaction(bench: Bench, opened: Any) -> None:
    bench.connection.execute(LEDGER)

    @bench.app.task
    async def second() -> None: ...

    @bench.app.task
    async def record(ctx: Context) -> object:
        async with opened(bench.dsn) as own:
            ctx.follow_up(second.task())
            await ctx.complete(own, {"lines": 1})
        return "this return value is ignored"

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        (task, follower) = await bench.finished(task_id, task_id + 1)

    assert (task.state, task.result, task.attempt) == ("completed", {"lines": 1}, 1)
    assert follower.origin_id == task_id
    assert bench.ask("select count(*) from ledger") == 1


@pytest.mark.parametrize("opened", ASYNC)
async def test_server_closes_an_async_transaction_left_open_after_the_completion(bench: Bench, opened: Any) -> None:
    bench.connection.execute(LEDGER)

    @bench.app.task(lease=1, retry=immediate())
    async def record(ctx: Context) -> None:
        async with opened(bench.dsn) as own:
            await ctx.complete(own)
            assert bench.ask(COMPLETING) == 1
            if ctx.attempt == 1:
                await until(lambda: bench.ask(COMPLETING) == 0)

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 2)
    assert bench.ask("select count(*) from ledger") == 1


@pytest.mark.parametrize("opened", SYNC)
async def test_server_closes_a_sync_transaction_left_open_after_the_completion(bench: Bench, opened: Any) -> None:
    bench.connection.execute(LEDGER)

    @bench.app.task(lease=1, retry=immediate())
    def record(ctx: Context) -> None:
        with opened(bench.dsn) as own:
            ctx.complete_sync(own)
            assert bench.ask(COMPLETING) == 1
            if ctx.attempt == 1:
                ctx.wait(until(lambda: bench.ask(COMPLETING) == 0))

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 2)
    assert bench.ask("select count(*) from ledger") == 1


@pytest.mark.parametrize("opened", SYNC)
async def test_task_completes_in_its_handlers_own_sync_transaction(bench: Bench, opened: Any) -> None:
    bench.connection.execute(LEDGER)

    @bench.app.task
    def record(ctx: Context) -> object:
        with opened(bench.dsn) as own:
            ctx.complete_sync(own, {"lines": 1})
        return "this return value is ignored"

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.result, task.attempt) == ("completed", {"lines": 1}, 1)
    assert bench.ask("select count(*) from ledger") == 1


@pytest.mark.parametrize("opened", SYNC)
async def test_rolled_back_sync_completion_fails_with_the_error_that_caused_it(bench: Bench, opened: Any) -> None:
    bench.connection.execute(LEDGER)

    @bench.app.task(max_attempts=1)
    def record(ctx: Context) -> None:
        with opened(bench.dsn) as own:
            ctx.complete_sync(own)
            raise ValueError("after all")

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "failed"
    assert "after all" in (task.error or "")
    assert bench.ask("select count(*) from ledger") == 0


@pytest.mark.parametrize("opened", ASYNC)
async def test_returned_result_is_stored_after_a_rolled_back_completion(bench: Bench, opened: Any) -> None:
    bench.connection.execute(LEDGER)

    @bench.app.task
    async def record(ctx: Context) -> str:
        try:
            async with opened(bench.dsn) as own:
                await ctx.complete(own, "in the transaction")
                raise ValueError("not after all")
        except ValueError:
            return "returned"

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.result) == ("completed", "returned")
    assert bench.ask("select count(*) from ledger") == 0


async def test_handler_that_fails_after_its_own_commit_has_completed_its_task(bench: Bench) -> None:
    bench.connection.execute(LEDGER)
    called: list[str] = []

    @bench.app.task(max_attempts=1)
    async def record(ctx: Context) -> None:
        ctx.after_commit(lambda: called.append("after"))
        async with of_asyncpg(bench.dsn) as own:
            await ctx.complete(own, {"lines": 1})
        raise ValueError("too late")

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)
        await until(lambda: called)

    assert (task.state, task.result) == ("completed", {"lines": 1})


async def test_handler_can_continue_indefinitely_after_its_own_commit(bench: Bench) -> None:
    bench.connection.execute(LEDGER)
    ended: list[str] = []

    @bench.app.task(lease=0.4)
    async def record(ctx: Context) -> None:
        async with of_asyncpg(bench.dsn) as own:
            await ctx.complete(own)
        for _answer in range(2):
            since = bench.ask("select clock_timestamp()")
            await until(lambda: bench.ask(RENEWED_SINCE, since))
        ctx.check()
        ended.append("by itself")

    (task_id,) = bench.enqueue(record.task())
    async with bench.working():
        await bench.finished(task_id)
        await until(lambda: ended)


async def test_lost_claim_is_reported_in_the_handlers_own_transaction(bench: Bench) -> None:
    bench.connection.execute(LEDGER)
    caught: list[str] = []

    @bench.app.task(lease=60)
    async def record(ctx: Context) -> None:
        bench.ask("update rolecall.tasks set fence = fence + 1, worker_id = 0 returning 1")
        try:
            async with of_asyncpg(bench.dsn) as own:
                await ctx.complete(own)
        except BaseException:
            caught.append(str(ctx.aborted))
            raise

    bench.enqueue(record.task())
    async with bench.working():
        await until(lambda: caught)

    assert caught == ["taken"]
    assert bench.ask("select count(*) from ledger") == 0
