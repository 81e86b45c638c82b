"""An attempt begins when its handler is about to be called, and the process that calls it reports this."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rolecall import Context, HandlerDefinition
from rolecall.db.connect import connect
from rolecall.db.run import run
from rolecall.sql import claims
from tests.worker import slow_import
from tests.worker.bench import PATIENCE, Bench, until

RESCUE_ITS_WORKER = """\
select count(*) from rolecall.tasks cross join lateral rolecall.rescue_workers(array[worker_id]) where id = %s
"""
STARTS = """\
select true from pg_stat_activity where query ~ 'rolecall\\.start' and application_name like 'rolecall:worker:%%'
    and datname = current_database()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the process of a slow handler records its progress, and waits for `go`."""
    monkeypatch.setenv(slow_import.FOLDER, str(tmp_path))
    return tmp_path


def slow_handler(bench: Bench, **options: object) -> HandlerDefinition[[], None]:
    return bench.app.task(process=True, **options)(slow_import.note)  # type: ignore[call-overload,no-any-return]  # words of it


async def test_task_has_not_started_while_its_process_imports_the_handler(bench: Bench, folder: Path) -> None:
    [task_id] = bench.enqueue(slow_handler(bench).task())

    async with bench.working():
        await until((folder / "importing").exists)
        claimed = bench.task(task_id)
        (folder / "go").touch()
        [task] = await bench.finished(task_id)

    assert (claimed.status, claimed.started_at) == ("claimed", None)
    assert (task.state, (folder / "called").exists()) == ("completed", True)


async def test_worker_death_during_process_import_spends_no_attempt(bench: Bench, folder: Path) -> None:
    [task_id] = bench.enqueue(slow_handler(bench, max_attempts=2).task())

    for _ in range(4):
        async with bench.working():
            await until((folder / "importing").exists)
            assert bench.ask(RESCUE_ITS_WORKER, task_id) == 1
        (folder / "importing").unlink()

    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)


async def test_process_handler_is_called_only_after_its_start_is_recorded(bench: Bench, folder: Path) -> None:
    [task_id] = bench.enqueue(slow_handler(bench).task())

    async with bench.working():
        await until((folder / "importing").exists)
        with connect(bench.dsn, "somebody") as somebody, somebody.transaction():
            somebody.execute("select from rolecall.tasks for update")
            (folder / "go").touch()
            await until(lambda: bench.ask(STARTS))
            called = (folder / "called").exists()
        [task] = await bench.finished(task_id)

    assert (called, task.state) == (False, "completed")


async def test_task_that_expires_during_process_import_does_not_start(bench: Bench, folder: Path) -> None:
    [task_id] = bench.enqueue(slow_handler(bench).task().options(expires=1.0))

    async with bench.working():
        await until((folder / "importing").exists)
        await until(lambda: bench.ask("select expires_at < clock_timestamp() from rolecall.tasks"))
        (folder / "go").touch()
        await bench.ended_once(task_id)

    assert not (folder / "called").exists()
    assert bench.ask("select array_agg(kind) from rolecall.task_events where kind <> 'expired'") == ["returned"]
    run(bench.connection, claims.expire())
    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("cancelled", 0)


async def test_long_task_in_a_free_slot_is_recorded_as_started(bench: Bench) -> None:
    going, enough = asyncio.Event(), asyncio.Event()

    @bench.app.task
    async def work() -> None:
        going.set()
        await enough.wait()

    [task_id] = bench.enqueue(work.task())

    async with bench.working():
        await asyncio.wait_for(going.wait(), PATIENCE)
        await until(lambda: bench.task(task_id).started_at)
        enough.set()
        await bench.finished(task_id)


async def test_repeatedly_lost_task_starts_only_after_its_start_is_recorded(bench: Bench) -> None:
    """Otherwise a task that kills its worker at once would never spend an attempt."""
    known: list[bool] = []

    @bench.app.task
    async def work(ctx: Context) -> None:
        known.append(bench.ask("select started_at is not null from rolecall.tasks where id = %s", ctx.task_id))

    [task_id] = bench.enqueue(work.task())
    bench.ask("update rolecall.tasks set fence = 6 returning 1")

    async with bench.working():
        await bench.finished(task_id)

    assert known == [True]
