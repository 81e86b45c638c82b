"""The key by which systems outside recognise a request: one for each step of a task, whichever attempt it is."""

from __future__ import annotations

from collections import defaultdict

from rolecall import BatchContext, Context, NewTask, Snooze, immediate
from rolecall.model.outcomes import NoResult
from tests.worker.bench import Bench


async def test_every_attempt_has_the_same_idempotency_key(bench: Bench) -> None:
    shown: list[str] = []

    @bench.app.task(retry=immediate(), max_attempts=2)
    async def charge(ctx: Context) -> str:
        shown.append(ctx.idempotency_key)
        if ctx.attempt == 1:
            raise ConnectionError("no answer")
        return ctx.idempotency_key

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert shown == [f"{task_id}:0"] * 2
    assert task.result == f"{task_id}:0"


async def test_snooze_preserves_the_idempotency_key(bench: Bench) -> None:
    shown: list[str] = []

    @bench.app.task
    async def charge(ctx: Context) -> Snooze | None:
        shown.append(ctx.idempotency_key)
        return Snooze(0) if len(shown) == 1 else None

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        await bench.finished(task_id)

    assert shown == [f"{task_id}:0"] * 2


async def test_gather_step_has_its_own_idempotency_key(bench: Bench) -> None:
    shown: list[str] = []

    async def put_together(ctx: Context) -> None:
        shown.append(ctx.idempotency_key)

    @bench.app.task
    async def part() -> None: ...

    @bench.app.task(gather=put_together)
    async def whole(ctx: Context) -> None:
        shown.append(ctx.idempotency_key)
        ctx.spawn(part.task())

    (task_id,) = bench.enqueue(whole.task())

    async with bench.working():
        await bench.finished(task_id)

    assert shown == [f"{task_id}:0", f"{task_id}:1"]


async def test_each_item_of_a_batch_has_the_idempotency_key_of_its_task(bench: Bench) -> None:
    shown: dict[int, set[str]] = defaultdict(set)

    @bench.app.task(batch=10)
    async def charge(ctx: BatchContext, items: list[dict[str, int]]) -> list[NoResult | None]:
        for item in ctx.tasks:
            shown[item.task_id].add(item.idempotency_key)
        return [None] * len(items)

    ids = bench.enqueue(*(NewTask(handler="charge", payload={"order": order}) for order in range(3)))

    async with bench.working():
        await bench.finished(*ids)

    assert shown == {task_id: {f"{task_id}:0"} for task_id in ids}


async def test_suffix_distinguishes_the_requests_of_a_plain_function(bench: Bench) -> None:
    @bench.app.task
    def charge(ctx: Context) -> list[str]:
        return [ctx.idempotency_key("card"), ctx.idempotency_key("mail")]

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.result == [f"{task_id}:0:card", f"{task_id}:0:mail"]


async def test_idempotency_key_can_be_stored_and_passed_like_any_string(bench: Bench) -> None:
    @bench.app.task
    async def check(once: str) -> str:
        return once

    @bench.app.task
    async def charge(ctx: Context) -> dict[str, str]:
        await ctx.info({"once": ctx.idempotency_key})
        ctx.follow_up(check.task(once=ctx.idempotency_key))
        return {"once": ctx.idempotency_key}

    (task_id,) = bench.enqueue(charge.task())

    async with bench.working():
        charged, checked = await bench.finished(task_id, task_id + 1)

    assert (charged.info, charged.result) == ({"once": f"{task_id}:0"}, {"once": f"{task_id}:0"})
    assert checked.result == f"{task_id}:0"
