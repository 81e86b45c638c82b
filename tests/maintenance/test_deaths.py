"""Dead workers, without a process or without sessions: their tasks run elsewhere immediately."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from rolecall import Context, NewTask
from rolecall.db.run import run
from rolecall.maintenance.deaths import LocalWorkers, rescue_neighbours, rescue_sessionless
from rolecall.maintenance.processes import has_ended, own_process
from rolecall.model.workers import ProcessIdentity, WorkerInfo
from rolecall.sql import claims, workers
from rolecall.sql.statement import Statement
from rolecall.worker.session import DatabaseSession, DatabaseSessions
from tests.servers import Bouncer
from tests.worker.bench import Bench, until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

T = TypeVar("T")
# The first check without a session is long enough ago, and the server was up long before.
LONG_AGO = "update rolecall.{} - interval '1 hour'"


@pytest.fixture
async def session(bench: Bench) -> AsyncIterator[DatabaseSession]:
    session = DatabaseSessions(bench.dsn, deadline=5).open("maintain")
    yield session
    await session.close()


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which does nothing."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def identity() -> ProcessIdentity:
    found = own_process()
    assert found
    return found


def started(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19])


def enqueue(bench: Bench) -> int:
    """Enqueue a task of a handler that does nothing."""
    if "work" not in bench.app.handlers:

        @bench.app.task
        async def work() -> None: ...

    (task_id,) = bench.enqueue(NewTask(handler="work"))
    return task_id


def hold(bench: Bench, process: ProcessIdentity | None, host: str | None = None) -> int:
    """Register this process as a worker, and claim a task with it; return the task."""
    task_id = enqueue(bench)
    where = socket.gethostname() if host is None else host
    pid = process.pid if process else 1
    info = WorkerInfo(name="w", roles=(), handlers=("work",), slots=1, host=where, pid=pid, version="0")
    worker_id = run(bench.connection, workers.register(info))
    run(bench.connection, workers.record_process(worker_id, process, None))
    run(bench.connection, claims.claim(worker_id, [], ["work"], 1))
    return task_id


def test_running_process_counts_as_alive(other: subprocess.Popen[bytes]) -> None:
    mine = identity()

    assert not has_ended(mine.pid, mine.started)
    assert not has_ended(other.pid, started(other.pid))


def test_ended_process_is_detected_even_before_it_is_reaped(other: subprocess.Popen[bytes]) -> None:
    began = started(other.pid)
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)

    assert has_ended(other.pid, began)
    other.wait()
    assert has_ended(other.pid, began)


def test_later_process_with_the_same_pid_is_a_different_one(other: subprocess.Popen[bytes]) -> None:
    assert has_ended(other.pid, started(other.pid) - 1)


async def test_tasks_of_an_ended_process_are_rescued_before_their_leases_expire(
    bench: Bench, session: DatabaseSession, other: subprocess.Popen[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    task_id = hold(bench, replace(identity(), pid=other.pid, started=started(other.pid)))
    await rescue_neighbours(session)
    assert bench.task(task_id).state == "running"

    other.kill()
    other.wait()
    await rescue_neighbours(session)

    assert bench.task(task_id).state == "pending"
    assert "is dead, because its process has ended: rescued 1 pending" in caplog.text
    caplog.clear()
    await rescue_neighbours(session)
    assert not caplog.records


async def test_neighbor_identities_are_queried_only_when_one_appears_or_ends(
    bench: Bench, session: DatabaseSession, other: subprocess.Popen[bytes]
) -> None:
    task_id = hold(bench, replace(identity(), pid=other.pid, started=started(other.pid)))
    requests = 0

    class Asked:
        async def run(self, statement: Statement[T]) -> T:
            nonlocal requests
            requests += 1
            return await session.run(statement)

    neighbours = LocalWorkers(Asked())
    neighbours.latest = 1
    for _ in range(5):
        await neighbours.check()
    assert requests == 2
    other.kill()
    other.wait()

    await neighbours.check()

    assert bench.task(task_id).state == "pending"
    before = requests
    neighbours.latest = 2
    await neighbours.check()
    assert requests == before + 1


async def test_ended_process_is_found_behind_a_pooler_too(
    bench: Bench, pgbouncer: Bouncer, other: subprocess.Popen[bytes]
) -> None:
    task_id = hold(bench, replace(identity(), pid=other.pid, started=started(other.pid)))
    other.kill()
    other.wait()
    pooled = DatabaseSessions(pgbouncer.through(bench.dsn), deadline=5).open("maintain")

    await rescue_neighbours(pooled)

    assert bench.task(task_id).state == "pending"
    await pooled.close()


async def test_process_on_another_machine_or_container_is_not_checked(bench: Bench, session: DatabaseSession) -> None:
    """Its process id means nothing on this machine: there may be no such process, or an unrelated one."""
    nobody = replace(identity(), started=1)
    elsewhere = [
        hold(bench, replace(nobody, space="another boot/4026531836")),
        hold(bench, nobody, host="another"),
        hold(bench, None),
    ]

    await rescue_neighbours(session)

    assert {bench.task(task_id).state for task_id in elsewhere} == {"running"}


async def test_worker_registers_the_data_for_its_proof_of_death(bench: Bench) -> None:
    async with bench.working():
        await until(lambda: bench.ask("select sessions from rolecall.workers"))
        query = "select pid_space = %s and pid_started = %s and pid = %s from rolecall.workers"
        mine = identity()
        assert bench.ask(query, mine.space, mine.started, mine.pid)
        standing = (
            "select count(*) from pg_stat_activity join rolecall.workers "
            "on split_part(application_name, ':', 4) = sessions where datname = current_database()"
        )
        await until(lambda: bench.ask(standing) >= 4)


async def test_session_names_behind_a_pooler_prove_nothing(bench: Bench, pgbouncer: Bouncer) -> None:
    """The pooler owns the session names and changes them."""
    bench.dsn = pgbouncer.through(bench.dsn)

    async with bench.working(pooled=False):
        await until(lambda: bench.ask("select count(*) from rolecall.workers where pid_space is not null"))
        assert bench.ask("select sessions from rolecall.workers") is None


async def lose_sessions(bench: Bench, session: DatabaseSession, *wanted: NewTask) -> list[int]:
    """Let a worker claim tasks, and be without a session at two checks; return the tasks. Its death is not proven."""
    info = WorkerInfo(name="w", roles=(), handlers=("work", "free"), slots=1, host="elsewhere", pid=1, version="0")
    theirs = DatabaseSessions(bench.dsn, deadline=5, mark="abcdef")
    claiming = theirs.open("claim")
    worker_id = await claiming.run(workers.register(info))
    await claiming.run(workers.record_process(worker_id, None, theirs.session_suffix))
    ids = bench.enqueue(*wanted)
    await claiming.run(claims.claim(worker_id, [], ["work", "free"], len(ids)))
    bench.ask("update rolecall.server_epoch set seen_at = seen_at - interval '1 hour' returning 1")
    bench.ask("update rolecall.workers set heartbeat_at = heartbeat_at - interval '1 hour' returning 1")
    await rescue_sessionless(session)
    await claiming.close()
    await until(lambda: bench.ask("select count(*) from pg_stat_activity where application_name like '%%:abcdef'") == 0)
    await rescue_sessionless(session)
    assert {bench.task(task_id).state for task_id in ids} == {"running"}
    bench.ask("update rolecall.workers set unseen_since = unseen_since - interval '11 s' returning 1")
    await rescue_sessionless(session)
    return ids


async def test_only_idempotent_tasks_are_returned_once_the_session_is_gone(
    bench: Bench, session: DatabaseSession, caplog: pytest.LogCaptureFixture
) -> None:
    bench.app.role("free", idempotent=True)

    @bench.app.task(role="free")
    async def free() -> None: ...

    @bench.app.task
    async def work() -> None: ...

    harmless, keyed, once = await lose_sessions(
        bench,
        session,
        NewTask(handler="free"),
        NewTask(handler="work", key="k"),
        NewTask(handler="work", max_attempts=1),
    )

    assert bench.task(harmless).state == "pending"
    assert [bench.task(task_id).state for task_id in (keyed, once)] == ["running", "running"]
    assert "has no session left: returned 1 pending; its other tasks wait for their leases" in caplog.text
    caplog.clear()
    bench.ask("update rolecall.workers set unseen_since = unseen_since - interval '11 s' returning 1")
    await rescue_sessionless(session)
    assert not caplog.records


async def test_transaction_sessions_of_handlers_carry_the_workers_mark(bench: Bench) -> None:
    seen = list[str]()

    @bench.app.task
    async def work(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            cursor = await tx.execute("select current_setting('application_name')")
            [[name]] = await cursor.fetchall()
            seen.append(str(name))

    (task_id,) = bench.enqueue(work.task())
    async with bench.working():
        await bench.finished(task_id)
        assert seen == [f"rolecall:worker:handlers:{bench.ask('select sessions from rolecall.workers')}"]


async def test_wrongly_rescued_live_worker_continues_and_nothing_is_done_twice(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.connection.execute("create table receipts (attempt int)")
    begun = list[int]()
    go_on = asyncio.Event()

    @bench.app.task
    async def work(ctx: Context) -> None:
        begun.append(ctx.attempt)
        if ctx.attempt == 1:
            try:
                await asyncio.sleep(60)
            finally:
                await go_on.wait()
        async with ctx.transaction() as tx:
            await tx.execute("insert into receipts values (%s)", (ctx.attempt,))
            await ctx.complete(tx)

    (task_id,) = bench.enqueue(work.task())
    with caplog.at_level(logging.INFO, "rolecall"):
        async with bench.working(slots=2, abort_grace=0.1):
            await until(lambda: begun and bench.task(task_id).started_at)
            first = bench.ask("select id from rolecall.workers")
            with bench.connection.transaction():
                # A rescue skips locked rows, such as those locked by this worker's heartbeat, until the next one.
                bench.connection.execute("select from rolecall.workers where id = %s for update", (first,))
                bench.connection.execute("select from rolecall.tasks where id = %s for update", (task_id,))
                run(bench.connection, claims.rescue_workers([first]))
            await bench.finished(task_id)
            go_on.set()
            await until(lambda: bench.ask("select count(*) from rolecall.workers where stopped_at is null") == 1)
            again = bench.ask("select id from rolecall.workers where stopped_at is null")

    assert begun == [1, 2]
    assert bench.connection.execute("select * from receipts").fetchall() == [(2,)]
    assert again != first
    assert bench.ask("select pid_space is null and sessions is null from rolecall.workers where id = %s", again)
    assert "continues as worker" in caplog.text
