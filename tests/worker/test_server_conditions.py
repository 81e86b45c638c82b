"""A server condition is not an error of an outcome, and no outcome is dropped because of one."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from psycopg.conninfo import make_conninfo

from rolecall import Context, Worker, WorkerOptions
from rolecall.db.connect import connect
from rolecall.db.migrator import grant_roles
from rolecall.worker.health import WorkerHealth
from rolecall.worker.session import READ_ONLY_SERVER
from tests.logins import login
from tests.standbys import replicated
from tests.worker.bench import PATIENCE, Bench, until

WORKERS_SESSIONS = """\
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:worker:%%'
"""
WAITS = "waits until the database accepts writes"
READ_ONLY = ("set default_transaction_read_only = on", "reset default_transaction_read_only")
NOT_STORED = "cannot be stored yet"
NO_ANSWER = "does not answer"
# Rejects every outcome of a task with this key, with an error that a test chooses.
BREAK = """\
create function broken() returns trigger language plpgsql as $$
begin
    if new.key = 'broken' then
        raise exception 'the page is damaged' using errcode = '{sqlstate}';
    end if;
    return new;
end $$;
create trigger broken before insert on rolecall.finished_tasks for each row execute function broken()
"""
MEND = "drop function broken cascade"


@contextmanager
def changed(bench: Bench, owner: str, setting: str, back: str) -> Iterator[None]:
    """Change the database for new sessions during the block, and end all of the worker's sessions."""
    name = bench.connection.info.dbname
    with connect(make_conninfo(owner, dbname="postgres"), "dba") as dba:
        dba.execute(f'alter database "{name}" {setting}'.encode())
        try:
            bench.ask(WORKERS_SESSIONS)
            yield
        finally:
            dba.execute(f'alter database "{name}" {back}'.encode())
    bench.ask(WORKERS_SESSIONS)


CONDITIONS = pytest.mark.parametrize(
    ("setting", "back", "output"),
    [
        (*READ_ONLY, WAITS),
        ("connection limit 0", "connection limit -1", NO_ANSWER),
    ],
    ids=["read-only", "too many connections"],
)


@CONDITIONS
async def test_outcome_survives_a_server_condition_even_while_the_worker_stops(
    bench: Bench, caplog: pytest.LogCaptureFixture, setting: str, back: str, output: str
) -> None:
    """A worker that stops has the least patience."""
    going, enough, ran = asyncio.Semaphore(0), asyncio.Event(), []

    async def charge(ctx: Context) -> str:
        ran.append(ctx.task_id)
        going.release()
        await enough.wait()
        return "paid"

    often = bench.app.task(name="often", max_attempts=5)(charge)
    once = bench.app.task(name="once", max_attempts=1)(charge)
    ids = bench.enqueue(often.task(), often.task(), once.task())
    grant_roles(bench.connection)
    owner = bench.dsn

    # A superuser can connect regardless of the limit.
    with login(owner, "rolecall_work") as bench.dsn:
        async with bench.working(slots=3) as worker:
            for _ in ids:
                await asyncio.wait_for(going.acquire(), PATIENCE)
            with changed(bench, owner, setting, back):
                enough.set()
                await until(lambda: re.search(f"'settle'.*{output}|{output}.*'settle'", caplog.text))
                worker.stop()
                await until(lambda: worker.stopping)
            tasks = await bench.finished(*ids)

    assert [(task.state, task.result, task.attempt) for task in tasks] == [("completed", "paid", 1)] * 3
    assert sorted(ran) == ids


@pytest.mark.parametrize("sqlstate", ["XX001", "57014", "58030", "42883"])
async def test_outcome_that_cannot_be_stored_is_kept_and_delays_no_other(
    bench: Bench, caplog: pytest.LogCaptureFixture, sqlstate: str
) -> None:
    @bench.app.task
    async def work() -> str:
        return "kept"

    bench.connection.execute(BREAK.format(sqlstate=sqlstate).encode())
    broken, *others = bench.enqueue(
        work.task().options(key="broken"), *(work.task().options(key=f"k{n}") for n in range(40))
    )

    async with bench.working(slots=8):
        await bench.finished(*others)
        await until(lambda: NOT_STORED in caplog.text)
        assert bench.task(broken).state == "running"
        bench.connection.execute(MEND.encode())
        [task] = await bench.finished(broken)

    assert (task.state, task.result, task.attempt) == ("completed", "kept", 1)


@pytest.mark.parametrize("sqlstate", ["23514", "P0001"])
async def test_outcome_rejected_for_its_content_fails_its_task(bench: Bench, sqlstate: str) -> None:
    @bench.app.task(max_attempts=1)
    async def work() -> str:
        return "rejected"

    body = BREAK.format(sqlstate=sqlstate).replace("new.key = 'broken'", "new.state = 'completed'")
    bench.connection.execute(body.encode())
    [task_id] = bench.enqueue(work.task())

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert (task.state, task.error) == ("failed", "the outcome was refused: the page is damaged")


async def test_outcome_is_kept_if_a_plain_failure_is_also_rejected(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """For example while a login lacks its rights: then the outcome is not the cause."""

    @bench.app.task(max_attempts=1)
    async def work() -> str:
        return "kept"

    bench.connection.execute(BREAK.format(sqlstate="42501").encode())
    [task_id] = bench.enqueue(work.task().options(key="broken"))

    async with bench.working():
        await until(lambda: NOT_STORED in caplog.text)
        bench.connection.execute(MEND.encode())
        [task] = await bench.finished(task_id)

    assert (task.state, task.result) == ("completed", "kept")


async def test_outcomes_of_one_permit_are_stored_in_order_after_a_server_condition(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.connection.execute(BREAK.format(sqlstate="58030").encode())
    ids = bench.enqueue(*(work.task().options(key="broken") for _ in range(3)))

    async with bench.working():
        await until(lambda: bench.ask("select count(*) from rolecall.tasks where state = 'running'") == 3)
        bench.connection.execute(MEND.encode())
        tasks = await bench.finished(*ids)

    ends = [task.finished_at for task in tasks]
    assert ends == sorted(ends, key=str)
    assert {task.attempt for task in tasks} == {1}


@pytest.mark.parametrize("function", ["start(bigint, bigint[], int[])", "claim(bigint, text[], text[], int, int, int)"])
async def test_dropped_and_recreated_function_spends_no_attempt(
    bench: Bench, caplog: pytest.LogCaptureFixture, function: str
) -> None:
    going, enough = asyncio.Event(), asyncio.Event()

    @bench.app.task
    async def work() -> None:
        going.set()
        await enough.wait()

    name, _, parameters = function.partition("(")
    bench.enqueue()
    async with bench.working(poll_interval=0.1):
        bench.connection.execute(f"alter function rolecall.{function} rename to elsewhere".encode())
        [task_id] = bench.enqueue(work.task())
        await until(lambda: "trying again" in caplog.text)
        bench.connection.execute(f"alter function rolecall.elsewhere({parameters} rename to {name}".encode())
        await asyncio.wait_for(going.wait(), PATIENCE)
        await until(lambda: bench.task(task_id).started_at)
        enough.set()
        [task] = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 1)


async def waits_until_writes(worker: Worker, mend: Callable[[], object]) -> None:
    """Start a worker that cannot write, let it wait, and fix the cause."""
    running = asyncio.create_task(worker.run())
    try:
        await until(lambda: running.done() or worker.health() == WorkerHealth(unready=READ_ONLY_SERVER))
        mend()
        if not running.done():
            await asyncio.wait_for(worker.started(), PATIENCE)
            await until(lambda: worker.health().ready)
    finally:
        worker.stop()
        await asyncio.wait_for(running, PATIENCE)


async def test_worker_on_a_read_only_database_waits_and_logs_that(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    @bench.app.task
    async def work() -> None: ...

    with caplog.at_level(logging.WARNING), ExitStack() as while_read_only:
        while_read_only.enter_context(changed(bench, bench.dsn, *READ_ONLY))
        worker = Worker(bench.app, bench.dsn, WorkerOptions(maintenance=False))
        await waits_until_writes(worker, while_read_only.close)

    assert "Connection 'claim' waits until the database accepts writes: the database is read-only" in caplog.text


async def test_worker_on_a_standby_waits_for_its_promotion(caplog: pytest.LogCaptureFixture) -> None:
    with replicated() as pool, connect(pool.standby, "test") as standby:
        bench = Bench(pool.primary, connect(pool.primary, "test"))

        @bench.app.task
        async def work() -> None: ...

        worker = Worker(bench.app, pool.standby, WorkerOptions(maintenance=False))
        await waits_until_writes(worker, lambda: standby.execute("select pg_promote()"))
        bench.connection.close()

    assert WAITS in caplog.text
