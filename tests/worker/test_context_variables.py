"""A context variable set by a middleware reaches its handler in any kind of execution, and no other task."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pytest

from rolecall import App, Context, InvalidDeclaration, Next
from tests.worker import crunching
from tests.worker.bench import Bench
from tests.worker.crunching import for_whom, tenant


@dataclass
class Nothing:
    """An item without fields."""


async def by_the_key(ctx: Any, call_next: Next) -> object:
    """Return the customer of this attempt."""
    token = tenant.set(ctx.task.key if isinstance(ctx, Context) else "a batch")
    try:
        return await call_next()
    finally:
        tenant.reset(token)


def as_async(app: App) -> None:
    @app.task("work")
    async def work() -> object:
        return tenant.get()


def in_a_thread(app: App) -> None:
    @app.task("work")
    def work() -> object:
        assert threading.current_thread().name.startswith("rolecall-slot")
        return tenant.get()


def in_a_process(app: App) -> None:
    app.task("work", process=True)(for_whom)


def called_in_a_process(app: App) -> None:
    @app.task("work")
    async def work(ctx: Context) -> object:
        return await ctx.in_process(for_whom)


EVERYWHERE = pytest.mark.parametrize("define", [as_async, in_a_thread, in_a_process, called_in_a_process])


def carrying(bench: Bench, *, carries: bool = True) -> App:
    bench.app = App("test", middlewares=[by_the_key], carries=[tenant] if carries else [])
    return bench.app


@EVERYWHERE
async def test_variable_set_by_a_middleware_reaches_the_handler(bench: Bench, define: Any) -> None:
    app = carrying(bench)
    define(app)
    ids = bench.enqueue(*(app.handlers["work"].task().options(key=key) for key in ("ada", "bob")))

    async with bench.working(slots=2):
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == ["ada", "bob"]


async def test_variable_set_by_a_middleware_reaches_a_batch_in_a_thread(bench: Bench) -> None:
    app = carrying(bench)

    @app.task(batch=3)
    def work(items: list[Nothing]) -> list[object]:
        return [tenant.get() for _ in items]

    [task_id] = bench.enqueue(work.task())

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.result == "a batch"


@pytest.mark.parametrize("process", [False, True])
async def test_variable_set_in_a_thread_or_process_is_reset_after_the_task(bench: Bench, process: bool) -> None:
    app = carrying(bench)
    app.task("work", process=process)(for_whom)
    ids = bench.enqueue(*(app.handlers["work"].task(suffix="!").options(key=f"k{n}") for n in range(3)))

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == ["k0!", "k1!", "k2!"]


async def test_undeclared_variable_is_not_sent_to_a_process(bench: Bench) -> None:
    """It has its default there: other values may not be picklable."""
    app = carrying(bench, carries=False)
    app.task("work", process=True)(for_whom)
    [task_id] = bench.enqueue(app.handlers["work"].task().options(key="ada"))

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.result == "nobody"


async def test_carried_variables_of_an_included_app_are_sent(bench: Bench) -> None:
    part = App("part", middlewares=[by_the_key], carries=[tenant])
    part.task("work", process=True)(for_whom)
    bench.app.include(part)
    [task_id] = bench.enqueue(part.handlers["work"].task().options(key="ada"))

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.result == "ada"


async def test_unserializable_value_fails_the_attempt_and_names_the_variable(bench: Bench) -> None:
    async def lock(ctx: Context, call_next: Next) -> object:
        tenant.set(threading.Lock())
        return await call_next()

    bench.app = App("test", middlewares=[lock], carries=[tenant])
    handler = bench.app.task("work", process=True, max_attempts=1)(for_whom)
    [task_id] = bench.enqueue(handler.task())

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert "the value of context variable 'tenant' cannot be carried into a process" in (task.error or "")


async def test_worker_start_is_rejected_if_processes_cannot_find_a_variable(bench: Bench) -> None:
    hidden: ContextVar[str] = ContextVar("hidden")
    bench.app = App("test", carries=[hidden])
    bench.app.task("work", process=True)(crunching.for_whom)

    with pytest.raises(
        InvalidDeclaration, match="'hidden' cannot be carried into a process: it is not at the top level"
    ):
        async with bench.working():
            pass
