"""Outcomes set from outside while a handler runs: it is notified immediately, and its own outcome is ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from rolecall import Client, Context, LostReason, Snooze, TaskState
from tests.worker.bench import LISTENING, PATIENCE, SOON, Bench, until

Decision = Callable[[Client, int], object]
DECISIONS = [
    pytest.param(lambda client, task_id: client.complete(task_id, "outside"), LostReason.COMPLETED, id="complete"),
    pytest.param(lambda client, task_id: client.fail(task_id, "outside"), LostReason.COMPLETED, id="fail"),
    pytest.param(
        lambda client, task_id: client.complete_by_token(client.issue_token(task_id)), LostReason.COMPLETED, id="token"
    ),
    pytest.param(lambda client, task_id: client.complete_chain(task_id), LostReason.COMPLETED, id="chain"),
    pytest.param(lambda client, task_id: client.delete_chains(task_id), LostReason.DELETED, id="delete"),
]


@pytest.mark.parametrize(("decide", "reason"), DECISIONS)
async def test_running_handler_is_notified_immediately(bench: Bench, decide: Decision, reason: LostReason) -> None:
    """Through a notification, long before the next renewal of its lease."""
    output: list[LostReason | None] = []

    @bench.app.task(lease=60)
    async def wait(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            output.append(ctx.aborted)

    (task_id,) = bench.enqueue(wait.task())
    with Client(bench.dsn) as client:
        async with bench.working():
            await until(lambda: bench.ask(LISTENING))
            await bench.state(task_id, "running")
            await asyncio.to_thread(decide, client, task_id)
            await until(lambda: output, SOON)

    assert output == [reason]


async def test_handler_can_pass_on_its_completion_token(bench: Bench) -> None:
    secrets: list[str] = []

    @bench.app.task
    async def order(ctx: Context) -> Snooze:
        secrets.append(await ctx.issue_token(ttl=3600))
        return Snooze(3600)

    (task_id,) = bench.enqueue(order.task())
    async with bench.working():
        await until(lambda: secrets)
        await bench.state(task_id, "pending")
    with Client(bench.dsn) as client:
        client.complete_by_token(secrets[0], "paid")

    assert (bench.task(task_id).state, bench.task(task_id).result) == (TaskState.COMPLETED, "paid")


async def test_return_value_after_an_outside_completion_is_ignored(bench: Bench) -> None:
    @bench.app.task(lease=60)
    async def insist() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "inside"
        return "late"

    (task_id,) = bench.enqueue(insist.task())
    with Client(bench.dsn) as client:
        async with bench.working():
            await bench.state(task_id, "running")
            await asyncio.to_thread(client.complete, task_id, "outside")

    assert bench.task(task_id).result == "outside"


async def test_continuation_of_a_task_completed_from_outside_runs(bench: Bench) -> None:
    """A client completes the task, and the worker runs the continuation."""

    @bench.app.task
    def greet(name: str) -> str:
        return f"hello {name}"

    (task_id,) = bench.enqueue(greet.task(name="nobody").options(after=3600))
    with Client(bench.dsn, app=bench.app) as client:
        client.complete(task_id, continue_with=greet.task(name="ann"))
        async with bench.working():
            chain = await asyncio.to_thread(client.wait_chain, task_id, PATIENCE)

    assert (chain.state, chain.result, chain.length) == (TaskState.COMPLETED, "hello ann", 2)


def test_client_does_not_need_a_worker(bench: Bench) -> None:
    """It can start, read, complete, await and delete chains alone."""

    @bench.app.task
    def greet() -> str:
        return "hello"

    with Client(bench.dsn, app=bench.app) as client:
        chain_id = client.enqueue(greet).id
        client.complete_chain(chain_id, "from outside")

        assert client.wait_chain(chain_id, 5).result == "from outside"
        assert client.delete_chains(chain_id) == {chain_id: 1}


async def test_worker_does_not_need_a_client(bench: Bench) -> None:
    """The worker completes tasks that plain SQL has enqueued."""

    @bench.app.task
    def greet() -> str:
        return "hello"

    bench.enqueue()
    task_id = bench.ask("select rolecall.enqueue('greet')")
    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.result == "hello"
