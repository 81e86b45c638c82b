"""When a running task is lost, its handler soon receives the reason and can change nothing more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from rolecall import Context, HandlerAborted, HandlerDefinition, LostReason
from rolecall.db.run import run
from rolecall.model.outcomes import Completed
from rolecall.sql import claims
from tests.worker.bench import END_LISTENER, LISTENING, SOON, Bench, until

Told = list[LostReason]
CONTENT = """
select jsonb_build_array(
    (select jsonb_agg(to_jsonb(t) order by id) from rolecall.tasks as t),
    (select jsonb_agg(to_jsonb(t) order by id) from rolecall.finished_tasks as t),
    (select jsonb_agg(to_jsonb(t) order by at) from rolecall.task_events as t)
)
"""
NOTIFY = "select pg_notify('rolecall_cancel', %s::text)"


def cancel(bench: Bench, task_id: int, worker_id: int) -> None:
    """Send the notification that every function of the engine sends when it ends a running task from outside."""
    bench.cancel(task_id)


def delete(bench: Bench, task_id: int, worker_id: int) -> None:
    bench.ask("delete from rolecall.tasks where id = %s returning 1", task_id)
    bench.ask(NOTIFY, worker_id)


def take_over(bench: Bench, task_id: int, worker_id: int) -> None:
    bench.ask("update rolecall.tasks set fence = fence + 1, worker_id = 0 where id = %s returning 1", task_id)
    bench.ask(NOTIFY, worker_id)


def complete(bench: Bench, task_id: int, worker_id: int) -> None:
    fence = bench.task(task_id).fence
    run(bench.connection, claims.finish(worker_id, [Completed(id=task_id, fence=fence, result_json='"elsewhere"')]))
    bench.ask(NOTIFY, worker_id)


LOSSES = [
    pytest.param(cancel, LostReason.CANCELLED, id="cancelled"),
    pytest.param(delete, LostReason.DELETED, id="deleted"),
    pytest.param(take_over, LostReason.TAKEN, id="taken"),
    pytest.param(complete, LostReason.COMPLETED, id="completed"),
]
Loss = Callable[[Bench, int, int], None]


def awaiting(bench: Bench, result: Told, *, lease: float) -> HandlerDefinition[..., Any]:
    """Define a handler that is cancelled, and reads the reason from its context."""

    @bench.app.task(lease=lease)
    async def wait(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            result.append(ctx.aborted or LostReason.SHUTDOWN)

    return wait


def asking(bench: Bench, result: Told, *, lease: float) -> HandlerDefinition[..., Any]:
    """Define a handler in a thread, which checks whether it must stop."""

    @bench.app.task(lease=lease)
    def ask(ctx: Context) -> None:
        try:
            for _ in range(6_000):
                ctx.check()
                time.sleep(0.01)
        except HandlerAborted as aborted:
            result.append(aborted.reason)
            raise

    return ask


KINDS = [pytest.param(awaiting, id="async"), pytest.param(asking, id="thread")]
Kind = Callable[..., HandlerDefinition[..., Any]]


async def lose(bench: Bench, task_id: int, loss: Loss) -> None:
    running = await bench.state(task_id, "running")
    assert running.worker_id is not None
    loss(bench, task_id, running.worker_id)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("loss", "reason"), LOSSES)
async def test_loss_in_another_session_reaches_the_handler_immediately(
    bench: Bench, kind: Kind, loss: Loss, reason: LostReason
) -> None:
    result: Told = []
    (task_id,) = bench.enqueue(kind(bench, result, lease=60).task())

    async with bench.working():
        await until(lambda: bench.ask(LISTENING))
        await lose(bench, task_id, loss)
        await until(lambda: result, SOON)

    assert result == [reason]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("loss", "reason"), LOSSES)
async def test_loss_without_notifications_reaches_the_handler_at_the_next_renewal(
    bench: Bench, kind: Kind, loss: Loss, reason: LostReason
) -> None:
    result: Told = []
    (task_id,) = bench.enqueue(kind(bench, result, lease=0.8).task())

    async with bench.working(listen=False):
        await lose(bench, task_id, loss)
        await until(lambda: result, SOON)

    assert result == [reason]


@pytest.mark.parametrize(("loss", "reason"), LOSSES[1:])
async def test_lost_task_is_not_written_to_again(bench: Bench, loss: Loss, reason: LostReason) -> None:
    result: Told = []
    (task_id,) = bench.enqueue(awaiting(bench, result, lease=60).task())

    async with bench.working():
        await lose(bench, task_id, loss)
        after = bench.ask(CONTENT)
        await until(lambda: result, SOON)

    assert result == [reason]
    assert bench.ask(CONTENT) == after


async def test_listener_catches_up_after_its_connection_is_lost(bench: Bench) -> None:
    result: Told = []
    (task_id,) = bench.enqueue(awaiting(bench, result, lease=60).task())

    async with bench.working():
        await bench.state(task_id, "running")
        await until(lambda: bench.ask(LISTENING))
        with bench.connection.transaction():
            bench.ask(END_LISTENER)
            bench.cancel(task_id)
        await until(lambda: result, SOON)

    assert result == [LostReason.CANCELLED]
