"""The current stack of a running handler, which its worker stores when somebody requests it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from rolecall.db.run import run
from rolecall.model.operator.logs import LogFilter
from rolecall.sql import logs
from tests.worker import crunching
from tests.worker.bench import LISTENING, PATIENCE, Bench, until
from tests.worker.test_blocked_loops import worker_with_a_loop_of_its_own


async def stack_of(bench: Bench, task_id: int) -> str:
    """Request the stack of a running task and wait for it."""
    await until(lambda: bench.ask("select started_at from rolecall.tasks where id = %s", task_id))
    assert run(bench.connection, logs.request_stack(task_id)) == "requested"
    await until(lambda: answer_of(bench, task_id))
    return answer_of(bench, task_id) or ""


def answer_of(bench: Bench, task_id: int) -> str | None:
    found = run(bench.connection, logs.latest_stack(task_id))
    return None if found is None else found.stack


async def test_stack_of_an_async_handler_shows_the_coroutines_that_it_awaits(bench: Bench) -> None:
    enough = asyncio.Event()

    async def read_page() -> None:
        await enough.wait()

    @bench.app.task
    async def work(password: str) -> None:
        await read_page()

    (task_id,) = bench.enqueue(work.task(password="hidden value"))
    async with bench.working():
        await until(lambda: bench.ask(LISTENING))
        stack = await stack_of(bench, task_id)
        enough.set()
    assert [line.split(" in ")[1] for line in stack.splitlines() if " in " in line] == ["work", "read_page", "wait"]
    assert "await enough.wait()" in stack
    assert "hidden value" not in stack


async def test_stack_of_a_sync_handler_shows_the_calls_of_its_thread(bench: Bench) -> None:
    enough = threading.Event()

    @bench.app.task
    def work() -> None:
        enough.wait(30)

    (task_id,) = bench.enqueue(work.task())
    async with bench.working():
        await until(lambda: bench.ask(LISTENING))
        stack = await stack_of(bench, task_id)
        enough.set()
    assert stack.splitlines()[2] == "    enough.wait(30)"


async def test_stack_of_a_process_handler_shows_the_calls_of_its_process(bench: Bench, tmp_path: Path) -> None:
    handler = bench.app.task(process=True)(crunching.linger)
    (task_id,) = bench.enqueue(handler.task(folder=str(tmp_path)))
    async with bench.working():
        await until(lambda: (tmp_path / "begun-1").exists() and bench.ask(LISTENING))
        stack = await stack_of(bench, task_id)
        (tmp_path / "go").touch()
    assert stack.splitlines()[1].endswith("in linger")
    assert "worker/crunching.py" in stack


async def test_stack_of_a_handler_that_blocks_the_loop_is_stored(bench: Bench) -> None:
    release = threading.Event()

    @bench.app.task
    async def rude() -> None:
        release.wait(2 * PATIENCE)

    (task_id,) = bench.enqueue(rude.task())
    with worker_with_a_loop_of_its_own(bench):
        try:
            stack = await stack_of(bench, task_id)
        finally:
            release.set()
    assert stack.splitlines()[2] == "    release.wait(2 * PATIENCE)"


async def test_stack_is_no_log_line(bench: Bench) -> None:
    enough = asyncio.Event()

    @bench.app.task
    async def work() -> None:
        await enough.wait()

    (task_id,) = bench.enqueue(work.task())
    async with bench.working(listen=False, heartbeat_interval=0.1):
        await stack_of(bench, task_id)
        enough.set()
    assert run(bench.connection, logs.lines(task_id, LogFilter())).items == []
