from __future__ import annotations

import asyncio
import logging
from itertools import pairwise

import pytest
from psycopg.conninfo import make_conninfo

from rolecall import Worker, WorkerOptions
from rolecall.db.connect import connect
from rolecall.model.errors import DatabaseUnavailable, InvalidTask, SchemaMissing
from rolecall.sql import claims
from rolecall.sql.statement import Statement, single
from rolecall.worker.session import DatabaseSession, DatabaseSessions, LogThrottle
from tests.worker.bench import BEATEN, PATIENCE, Bench, until

TERMINATE = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:worker:%%'
"""


async def test_worker_survives_the_loss_of_all_its_connections(bench: Bench) -> None:

    @bench.app.task
    async def work(n: int) -> int:
        await asyncio.sleep(0.002)
        return n

    ids = bench.enqueue(*(work.task(n=n) for n in range(600)))

    async with bench.working(slots=5, maintenance=True):
        for _ in range(3):
            await asyncio.sleep(0.1)
            await until(lambda: bench.ask(TERMINATE))
        later = bench.enqueue(*(work.task(n=n) for n in range(100)))
        await bench.finished(*later)

    # A claim whose answer was lost is released when its lease expires: only such tasks may be missing.
    left = [task_id for task_id in ids if not bench.task(task_id).is_finished]
    assert all(bench.task(task_id).state in {"running", "pending"} for task_id in left)
    assert len(left) < 300


def _let_in(bench: Bench, answer: str) -> None:
    name = bench.connection.info.dbname
    with connect(make_conninfo(bench.dsn, dbname="postgres"), "doorman") as doorman:
        doorman.execute(f'alter database "{name}" allow_connections {answer}'.encode())


async def test_outcomes_wait_while_the_database_is_unavailable(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    going = asyncio.Event()

    @bench.app.task
    async def work() -> str:
        going.set()
        await asyncio.sleep(0.2)
        return "kept"

    (task_id,) = bench.enqueue(work.task())

    async with bench.working():
        await going.wait()
        _let_in(bench, "false")
        bench.ask(TERMINATE)
        await until(lambda: "does not answer" in caplog.text)
        await asyncio.sleep(0.5)
        _let_in(bench, "true")
        (task,) = await bench.finished(task_id)

    assert (task.result, task.attempt) == ("kept", 1)


async def test_worker_missing_from_the_registry_registers_again(bench: Bench) -> None:
    @bench.app.task
    async def work() -> None: ...

    bench.enqueue()
    async with bench.working(heartbeat_interval=0.1):
        await until(lambda: bench.ask("select count(*) from rolecall.workers"))
        first = bench.ask("delete from rolecall.workers returning id")
        await until(lambda: bench.ask(BEATEN))
        (task_id,) = bench.enqueue(work.task())
        (task,) = await bench.finished(task_id)

    assert task.worker_id is not None
    assert task.worker_id > first


async def test_worker_waits_for_a_database_and_can_be_stopped_meanwhile(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(bench.app, "postgresql://nobody@127.0.0.1:1/nothing")

    with caplog.at_level(logging.WARNING, "rolecall.worker"):
        running = asyncio.create_task(worker.run())
        await until(lambda: "does not answer" in caplog.text)
        worker.stop()
        await asyncio.wait_for(running, PATIENCE)


async def test_worker_checks_the_schema_again_after_losing_its_connection(bench: Bench) -> None:
    with connect(bench.dsn, "lock") as other, other.transaction():
        other.execute("lock table rolecall.schema_migrations")
        worker = Worker(bench.app, bench.dsn)
        running = asyncio.create_task(worker.run())
        await until(lambda: bench.ask(f"{TERMINATE} and wait_event_type = 'Lock'"))

    await until(lambda: bench.ask("select count(*) from rolecall.workers"))
    worker.stop()
    await asyncio.wait_for(running, PATIENCE)


async def test_worker_rejects_a_database_without_the_schema_and_logs_that(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """In the lifespan of a web application, nobody reads the worker's exit before the application stops."""
    bench.connection.execute("drop schema rolecall cascade")
    running = asyncio.create_task(Worker(bench.app, bench.dsn).run())

    await asyncio.wait([running], timeout=PATIENCE)

    [output] = [record for record in caplog.records if record.levelno == logging.CRITICAL]
    assert "The worker ends: the database lacks the schema of rolecall" in output.getMessage()
    assert output.getMessage().endswith("; run: rolecall migrate")
    with pytest.raises(SchemaMissing):
        await running


async def test_unavailable_database_is_logged_repeatedly(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolecall.worker.session.FIRST_PAUSE", 0.01)
    session = DatabaseSessions("postgresql://nobody@127.0.0.1:1/nothing", deadline=1.0).open("lost")
    asking = asyncio.create_task(session.run(Statement(query="select 1", read=single)))

    await until(lambda: sum(record.levelno == logging.WARNING for record in caplog.records) >= 3)

    session.give_up()
    with pytest.raises(DatabaseUnavailable):
        await asking


def test_interval_between_warnings_grows_up_to_a_limit() -> None:
    trouble = LogThrottle()

    output = [second for second in range(4_000) if trouble.due(second)]

    assert output[:6] == [0, 30, 90, 210, 450, 930]
    assert {later - earlier for earlier, later in pairwise(output[5:])} == {600}


async def test_call_without_a_timely_response_is_retried(bench: Bench) -> None:
    session = DatabaseSessions(bench.dsn, deadline=0.2).open("slow")
    bench.connection.execute("create sequence tries")
    slow_at_first: Statement[int] = Statement(
        query="select case when nextval('tries') < 3 then pg_sleep(5)::text::int else 7 end", read=single
    )

    assert await session.run(slow_at_first) == 7
    await session.close()


async def test_statement_error_is_raised_immediately(bench: Bench) -> None:
    session = DatabaseSessions(bench.dsn, deadline=5).open("refused")
    unreadable: Statement[None] = Statement(query="select '{'::jsonb", read=single)

    with pytest.raises(InvalidTask):
        await session.run(unreadable)

    await session.close()


async def test_closed_session_raises_instead_of_waiting(bench: Bench) -> None:
    async def refuse() -> object:
        raise DatabaseUnavailable("nobody there")

    session = DatabaseSession("none", refuse, deadline=1)  # type: ignore[arg-type]
    asking = asyncio.create_task(session.run(claims.next_due([], [])))
    await asyncio.sleep(0.1)
    session.give_up()

    with pytest.raises(DatabaseUnavailable):
        await asking


async def test_only_claims_commit_without_waiting_for_the_disk(bench: Bench) -> None:
    sessions = DatabaseSessions(bench.dsn, deadline=5)
    setting: Statement[str] = Statement(query="show synchronous_commit", read=single)
    relaxed, strict = sessions.open_relaxed("claim"), sessions.open("settle")

    assert await relaxed.run(setting) == "off"
    assert await strict.run(setting) == "on"

    await relaxed.close()
    await strict.close()


async def test_worker_of_an_app_without_handlers_starts_and_stops(bench: Bench) -> None:
    running = asyncio.create_task(Worker(bench.app, bench.dsn, WorkerOptions(maintenance=False)).run())
    await until(lambda: bench.ask("select count(*) from rolecall.workers"))
    running.cancel()
    await asyncio.wait({running})
