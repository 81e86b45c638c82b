"""Middlewares around each attempt."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rolecall import BatchContext, Cancel, Context, Middleware, Next, Snooze, immediate
from tests.worker.bench import Bench, until
from tests.worker.crunching import introduce

Told = list[str]


@dataclass
class Item:
    n: int


def telling(name: str, output: Told) -> Middleware:
    async def middleware(ctx: Any, call_next: Next) -> object:
        output.append(f"{name} in")
        try:
            return await call_next()
        finally:
            output.append(f"{name} out")

    return middleware


@pytest.mark.parametrize("kind", ["async", "thread", "batch", "batch in a thread"])
async def test_first_middleware_is_the_outermost(bench: Bench, kind: str) -> None:
    output: Told = []
    bench.app.use(telling("first", output), telling("second", output))
    define(bench, kind, output, middlewares=[telling("own", output)])

    (task_id,) = bench.enqueue(bench.app.handlers["work"].task(n=1))
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "completed"
    assert output == ["first in", "second in", "own in", "handler", "own out", "second out", "first out"]


def define(bench: Bench, kind: str, output: Told, **options: Any) -> None:
    async def work(n: int) -> None:
        output.append("handler")

    def in_thread(n: int) -> None:
        assert threading.current_thread().name.startswith("rolecall-slot")
        output.append("handler")

    async def batch(items: list[Item]) -> None:
        output.append("handler")

    def batch_in_thread(items: list[Item]) -> None:
        output.append("handler")

    kinds: dict[str, Callable[..., Any]] = {
        "async": work, "thread": in_thread, "batch": batch, "batch in a thread": batch_in_thread,
    }  # fmt: skip
    size = 5 if kind.startswith("batch") else None
    bench.app.task("work", batch=size, **options)(kinds[kind])


async def test_middlewares_of_processes_and_procedures_run_in_the_worker(bench: Bench) -> None:
    """Both executors."""
    output: Told = []
    bench.app.use(telling("around", output))
    bench.connection.execute(
        "create procedure public.close_books(payload jsonb, inout info jsonb) language sql as 'select payload'"
    )
    bench.app.task("introduce", process=True)(introduce)
    procedure = bench.app.procedure("close", "public.close_books")

    ids = bench.enqueue(bench.app.handlers["introduce"].task(sign="I"), procedure.task())
    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.state for task in tasks] == ["completed"] * 2
    assert output == ["around in", "around out"] * 2


async def test_middleware_sees_the_task_and_worker_and_can_change_the_result(bench: Bench) -> None:

    async def sign(ctx: Context, call_next: Next) -> object:
        return {"result": await call_next(), "task": ctx.task_id, "worker": ctx.worker_id}

    @bench.app.task(middlewares=[sign])
    async def work() -> object:
        return "done"

    (task_id,) = bench.enqueue(work.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.result == {"result": "done", "task": task_id, "worker": bench.ask("select id from rolecall.workers")}


async def test_each_attempt_passes_through_the_middlewares(bench: Bench) -> None:
    attempts: list[int] = []

    async def count(ctx: Context, call_next: Next) -> object:
        attempts.append(ctx.attempt)
        return await call_next()

    @bench.app.task(middlewares=[count], retry=immediate(), max_attempts=3)
    async def flaky(ctx: Context) -> None:
        if ctx.attempt < 3:
            raise OSError("not yet")

    (task_id,) = bench.enqueue(flaky.task())
    async with bench.working():
        await bench.finished(task_id)

    assert attempts == [1, 2, 3]


async def test_middleware_sees_the_error_and_can_handle_it(bench: Bench) -> None:
    async def forgive(ctx: Context, call_next: Next) -> object:
        try:
            return await call_next()
        except OSError as error:
            return f"forgiven: {error}"

    @bench.app.task(middlewares=[forgive])
    def broken() -> object:
        raise OSError("too bad")

    (task_id,) = bench.enqueue(broken.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.result) == ("completed", "forgiven: too bad")


async def test_error_in_a_middleware_fails_only_its_task(bench: Bench) -> None:
    async def guard(ctx: Context, call_next: Next) -> object:
        raise PermissionError("not you")

    @bench.app.task(middlewares=[guard], max_attempts=1)
    async def guarded() -> str:
        return "never"

    @bench.app.task
    async def free() -> str:
        return "fine"

    refused, fine = bench.enqueue(guarded.task(), free.task())
    async with bench.working(slots=1):
        first, second = await bench.finished(refused, fine)

    assert (first.state, second.state) == ("failed", "completed")
    assert (first.error or "").startswith("PermissionError: not you\n")
    assert "in guard" in (first.error or "")
    assert "onion" not in (first.error or "")


async def test_middleware_can_cancel_or_snooze_instead_of_the_handler(bench: Bench) -> None:
    async def gate(ctx: Context, call_next: Next) -> object:
        return Cancel("closed") if ctx.handler == "close" else Snooze(3600)

    called: Told = []
    for name in ("close", "wait"):
        bench.app.task(name, middlewares=[gate])(lambda: called.append("handler"))

    close, wait = bench.enqueue(*(bench.app.handlers[name].task() for name in ("close", "wait")))
    async with bench.working():
        (closed,) = await bench.finished(close)
        await bench.ended_once(wait)

    assert (closed.state, closed.error) == ("cancelled", "closed")
    assert bench.ask("select scheduled_for > now() + interval '59 min' from rolecall.tasks")
    assert called == []


async def test_middleware_around_a_batch_determines_the_outcomes_of_all_its_tasks(bench: Bench) -> None:
    seen: list[int] = []

    async def gate(ctx: BatchContext, call_next: Next) -> object:
        seen.extend(each.task_id for each in ctx.tasks)
        return Cancel("closed")

    @bench.app.task(batch=10, middlewares=[gate])
    async def work(items: list[Item]) -> None: ...

    ids = bench.enqueue(work.task(n=1), work.task(n=2))
    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.state for task in tasks] == ["cancelled"] * 2
    assert sorted(seen) == ids


async def test_abort_passes_through_the_middlewares_to_the_handler(bench: Bench) -> None:
    output: Told = []

    @bench.app.task(middlewares=[telling("around", output)], lease=2)
    async def endless() -> None:
        output.append("handler")
        await asyncio.Event().wait()

    (task_id,) = bench.enqueue(endless.task())
    async with bench.working():
        await until(lambda: "handler" in output)
        bench.cancel(task_id)
        (task,) = await bench.finished(task_id)

    assert task.state == "cancelled"
    assert output == ["around in", "handler", "around out"]
