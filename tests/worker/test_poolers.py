"""Workers and clients behind a real PgBouncer in transaction mode with its defaults and two server connections."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from rolecall import AsyncClient, Client, Context
from tests.servers import Bouncer, bouncing
from tests.worker.bench import LISTENING, Bench, until

# Excludes the settings that PgBouncer sets for each client, and the engine's watermarks.
LEFT_BEHIND = """
select name, setting from pg_settings where source = 'session' and name not like 'rolecall.%'
    and name not in ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')
union all select 'prepared', name from pg_prepared_statements
union all select 'listens to', channel from pg_listening_channels() as channel where channel !~ '^rolecall_probe_'
union all select 'locks', locktype from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
"""
THREADS = 6
TASKS = 300


async def test_six_connections_over_two_run_each_task_once_without_errors(bench: Bench, pgbouncer: Bouncer) -> None:
    bench.dsn = pgbouncer.through(bench.dsn)
    done: Counter[int] = Counter()
    bench.connection.execute("create table receipts (n int)")

    @bench.app.task
    async def work(n: int) -> int:
        done[n] += 1
        return n

    @bench.app.task
    async def bill(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute("insert into receipts values (%s)", (n,))
            await ctx.complete(tx)

    with (
        Client(bench.dsn, app=bench.app) as one,
        Client(bench.dsn, app=bench.app) as other,
        ThreadPoolExecutor(THREADS) as threads,
    ):
        clients = [one, other]
        async with bench.working(slots=5, maintenance=True):
            calls = [
                asyncio.get_running_loop().run_in_executor(
                    threads, clients[n % 2].enqueue, bill if n % 10 == 0 else work, {"n": n}
                )
                for n in range(TASKS)
            ]
            ids = [enqueued.id for enqueued in await asyncio.gather(*calls)]
            tasks = await bench.finished(*ids)

    assert {task.state for task in tasks} == {"completed"}
    assert set(done.values()) == {1}
    assert (
        bench.ask("select count(*) from receipts") == bench.ask("select count(distinct n) from receipts") == TASKS // 10
    )


async def test_pooler_server_sessions_contain_no_leftover_state(bench: Bench, pgbouncer: Bouncer) -> None:
    through = bench.dsn = pgbouncer.through(bench.dsn)

    @bench.app.task
    async def work() -> None: ...

    async with bench.working(slots=3, maintenance=True), AsyncClient(through, app=bench.app) as client:
        await bench.finished(*[(await client.enqueue(work)).id for _ in range(20)])

    with psycopg.connect(through) as one, psycopg.connect(through) as other:
        assert {row for session in (one, other) for row in session.execute(LEFT_BEHIND)} == set()


async def test_async_client_and_sql_handler_work_behind_a_pooler(bench: Bench, pgbouncer: Bouncer) -> None:
    bench.connection.execute(
        "create procedure count_up(payload jsonb, inout info jsonb) language plpgsql as $$"
        " begin info := jsonb_build_object('next', (payload ->> 'n')::int + 1); end $$"
    )
    bench.dsn = pgbouncer.through(bench.dsn)
    count_up = bench.app.procedure("count_up", "public.count_up", role="sums", description="Counts up")

    async with AsyncClient(bench.dsn, app=bench.app) as client, bench.working(slots=3):
        ids = [(await client.enqueue(count_up.task(n=n))).id for n in range(30)]
        tasks = [await client.wait(task_id, timeout=30) for task_id in ids]

    assert [task.info for task in tasks] == [{"next": n + 1} for n in range(30)]


async def test_worker_logs_once_that_a_pooler_forces_polling(
    bench: Bench, pgbouncer: Bouncer, caplog: pytest.LogCaptureFixture
) -> None:
    bench.dsn = pgbouncer.through(bench.dsn)

    @bench.app.task
    async def work() -> None: ...

    with caplog.at_level(logging.INFO, "rolecall"):
        async with bench.working():
            await until(lambda: "polling instead" in caplog.text)
            await bench.finished(*bench.enqueue(work.task()))

    assert caplog.text.count("A pooler is in front of the database") == 1
    assert "ROLECALL_LISTEN_URL" in caplog.text
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_worker_receives_notifications_over_a_direct_connection_next_to_a_pooler(
    bench: Bench, pgbouncer: Bouncer
) -> None:
    direct, bench.dsn = bench.dsn, pgbouncer.through(bench.dsn)

    @bench.app.task
    async def work() -> None: ...

    async with bench.working(listen_dsn=direct, poll_interval=3_600):
        await until(lambda: bench.ask(LISTENING))
        await until(lambda: bench.ask("select bool_and(idle) from rolecall.all_workers"))
        await bench.finished(*bench.enqueue(work.task()))


async def test_worker_receives_notifications_behind_a_pooler_in_session_mode(bench: Bench) -> None:
    with bouncing(bench.dsn, mode="session", size=20) as bouncer:
        bench.dsn = bouncer.through(bench.dsn)

        async with bench.working():
            await until(lambda: bench.ask(LISTENING))


@pytest.mark.parametrize("pooled", [False, True])
async def test_worker_runs_where_transactions_default_to_repeatable_read(
    bench: Bench, pgbouncer: Bouncer, pooled: bool
) -> None:
    name = Identifier(bench.connection.info.dbname)
    bench.connection.execute(
        SQL("alter database {} set default_transaction_isolation = 'repeatable read'").format(name)
    )
    if pooled:
        bench.dsn = pgbouncer.through(bench.dsn)

    @bench.app.task
    async def work(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx)

    with Client(bench.dsn, app=bench.app) as client:
        async with bench.working(maintenance=True):
            ids = [(await asyncio.to_thread(client.enqueue, work)).id for _ in range(5)]
            tasks = await bench.finished(*ids)
            assert await asyncio.to_thread(client.delete_chains, ids) == dict.fromkeys(ids, 1)

    assert {task.state for task in tasks} == {"completed"}
