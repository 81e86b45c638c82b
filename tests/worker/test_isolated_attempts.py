"""Each attempt has context variables and an asyncio task of its own: nothing of them reaches the next attempt."""

from __future__ import annotations

import asyncio
import decimal
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pytest

from rolecall import App, Context, Next
from rolecall.telemetry.context import task_fields
from tests.worker import precise
from tests.worker.bench import Bench, until

tenant: ContextVar[str] = ContextVar("tenant_of_attempt", default="nobody")
PRISTINE = ["nobody", 28]


@dataclass
class Visit:
    """An item of a batch."""

    name: str


def look_and_leave(name: str) -> list[object]:
    """Return what this attempt finds, then change it."""
    found: list[object] = [tenant.get(), decimal.getcontext().prec]
    tenant.set(name)
    decimal.getcontext().prec = 3
    return found


def as_async(app: App) -> None:
    @app.task("visit")
    async def visit(name: str) -> list[object]:
        return look_and_leave(name)


def in_a_thread(app: App) -> None:
    @app.task("visit")
    def visit(name: str) -> list[object]:
        return look_and_leave(name)


def in_a_batch(app: App) -> None:
    @app.task("visit", batch=1)
    async def visit(items: list[Visit]) -> list[object]:
        return [look_and_leave(item.name) for item in items]


def in_a_batch_in_a_thread(app: App) -> None:
    @app.task("visit", batch=1)
    def visit(items: list[Visit]) -> list[object]:
        return [look_and_leave(item.name) for item in items]


@pytest.fixture(autouse=True)
def _arithmetic() -> None:
    """Set a decimal context in the worker's own context, as most programs do."""
    decimal.getcontext()


@pytest.mark.parametrize("define", [as_async, in_a_thread, in_a_batch, in_a_batch_in_a_thread])
async def test_context_changes_are_reset_after_their_attempt(bench: Bench, define: Callable[[App], None]) -> None:
    define(bench.app)
    visit = bench.app.handlers["visit"]
    payloads = [{"name": name} for name in ("ada", "bob", "eve")]
    ids = bench.enqueue(*(visit.build_task(payload) for payload in payloads))

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == [PRISTINE] * 3
    assert decimal.getcontext().prec == 28


@pytest.mark.parametrize("end", [ValueError("no"), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_context_changes_of_a_failed_attempt_are_reset(bench: Bench, end: BaseException) -> None:
    @bench.app.task(max_attempts=1)
    async def fail() -> None:
        look_and_leave("ada")
        raise end

    @bench.app.task
    async def visit() -> list[object]:
        return look_and_leave("bob")

    ids = bench.enqueue(fail.task(), visit.task())

    async with bench.working(slots=1):
        _, second = await bench.finished(*ids)

    assert second.result == PRISTINE


async def test_context_changes_of_an_aborted_attempt_are_reset(bench: Bench) -> None:
    @bench.app.task(max_attempts=1, timeout=0.2)
    async def stuck() -> None:
        look_and_leave("ada")
        await asyncio.Event().wait()

    @bench.app.task
    async def visit() -> list[object]:
        return look_and_leave("bob")

    ids = bench.enqueue(stuck.task(), visit.task())

    async with bench.working(slots=1):
        first, second = await bench.finished(*ids)

    assert (first.state, second.result) == ("failed", PRISTINE)


async def test_process_context_keeps_module_settings_and_discards_changes_of_requests(bench: Bench) -> None:
    visit = bench.app.task("visit", process=True)(precise.divide)
    ids = bench.enqueue(*(visit.task(precision=precision) for precision in (3, 0, 4, 0)))

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == ["0.333", "0.333333", "0.3333", "0.333333"]


async def test_function_in_a_process_does_not_change_the_next_calls_context(bench: Bench) -> None:
    @bench.app.task
    async def visit(ctx: Context) -> list[str]:
        return [await ctx.in_process(precise.divide, precision) for precision in (3, 0)]

    [task_id] = bench.enqueue(visit.task())

    async with bench.working(slots=1):
        [task] = await bench.finished(task_id)

    assert task.result == ["0.333", "0.333333"]


async def test_every_attempt_sees_the_context_in_which_the_worker_started(bench: Bench) -> None:
    @bench.app.task
    async def visit() -> object:
        return [look_and_leave("ada")[0]]

    ids = bench.enqueue(visit.task(), visit.task())
    tenant.set("the house")

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == [["the house"]] * 2


async def test_every_attempt_has_its_own_asyncio_task(bench: Bench) -> None:
    seen: list[tuple[object, object]] = []

    async def note(ctx: Any, call_next: Next) -> object:
        around = asyncio.current_task()
        result = await call_next()
        seen.append((around, result))
        return None

    bench.app = App("test", middlewares=[note])

    @bench.app.task
    async def visit() -> object:
        return asyncio.current_task()

    ids = bench.enqueue(visit.task(), visit.task(), visit.task())

    async with bench.working(slots=1):
        await bench.finished(*ids)

    assert len({around for around, _ in seen}) == 3
    assert all(around is inside for around, inside in seen)


async def test_middleware_need_not_reset_its_context_variables(bench: Bench) -> None:
    async def by_the_key(ctx: Any, call_next: Next) -> object:
        if ctx.key is not None:
            tenant.set(ctx.key)
        return await call_next()

    bench.app = App("test", middlewares=[by_the_key])

    @bench.app.task
    async def visit() -> str:
        return tenant.get()

    ids = bench.enqueue(visit.task().options(key="ada"), visit.task())

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == ["ada", "nobody"]


async def test_log_fields_are_reset_after_their_attempt(bench: Bench) -> None:
    left: list[asyncio.Task[object]] = []

    @bench.app.task
    async def visit() -> object:
        left.append(asyncio.create_task(asyncio.sleep(0, "a background task keeps its attempt's context")))
        return task_fields()["task"]

    ids = bench.enqueue(visit.task(), visit.task())

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)
        assert task_fields() == {}

    assert [task.result for task in tasks] == ids


async def test_handler_that_cancels_its_own_asyncio_task_and_returns_completes(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    async def odd(waits: bool) -> str:
        current = asyncio.current_task()
        assert current is not None
        current.cancel()
        if waits:
            await asyncio.sleep(0)
        return "done"

    ids = bench.enqueue(odd.task(waits=False), odd.task(waits=True), odd.task(waits=False))

    async with bench.working(slots=1):
        first, second, third = await bench.finished(*ids)

    assert [first.result, third.result] == ["done", "done"]
    assert second.state == "failed"
    assert (second.error or "").startswith("asyncio.exceptions.CancelledError")


async def test_after_commit_calls_have_their_own_context(bench: Bench) -> None:
    found: list[list[object]] = []

    async def look() -> None:
        found.append(look_and_leave("ada"))

    @bench.app.task
    async def visit(ctx: Context) -> None:
        ctx.after_commit(look)

    bench.enqueue(visit.task(), visit.task())

    async with bench.working(slots=1):
        await until(lambda: len(found) == 2)

    assert found == [PRISTINE] * 2
