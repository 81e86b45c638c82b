from __future__ import annotations

import asyncio

import pytest

from rolecall import Cancel, Context, NewTask, Snooze, UnstoredResult, immediate
from tests.worker.bench import Bench, until


async def test_failed_attempt_is_retried_by_its_policy(bench: Bench) -> None:
    attempts: list[int] = []

    @bench.app.task(retry=immediate(), max_attempts=5)
    async def flaky(ctx: Context) -> str:
        attempts.append(ctx.attempt)
        if ctx.attempt < 3:
            raise OSError("not yet")
        return "at last"

    (task_id,) = bench.enqueue(flaky.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert attempts == [1, 2, 3]
    assert (task.state, task.result, task.attempt) == ("completed", "at last", 3)


async def test_last_failure_stores_its_error_and_location(bench: Bench) -> None:

    @bench.app.task(max_attempts=1)
    async def broken() -> None:
        raise ValueError("bad price")

    (task_id,) = bench.enqueue(broken.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "failed"
    assert (task.error or "").startswith("ValueError: bad price\n")
    assert "in broken" in (task.error or "")
    assert "rolecall/worker" not in (task.error or "")


async def test_snooze_refunds_the_attempt(bench: Bench) -> None:
    @bench.app.task
    async def later() -> Snooze:
        return Snooze(3600)

    (task_id,) = bench.enqueue(later.task())

    async with bench.working():
        await bench.state(task_id, "pending")
        await _until_event(bench, task_id)

    task = bench.task(task_id)
    assert (task.state, task.attempt) == ("pending", 0)
    assert bench.ask("select scheduled_for > now() + interval '59 min' from rolecall.tasks")


async def _until_event(bench: Bench, task_id: int) -> None:
    while not bench.ask("select count(*) from rolecall.task_events where task_id = %s", task_id):
        await asyncio.sleep(0.01)


async def test_cancel_finishes_the_task_with_its_reason(bench: Bench) -> None:
    @bench.app.task
    async def pointless() -> Cancel:
        return Cancel("the store is closed")

    (task_id,) = bench.enqueue(pointless.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.error) == ("cancelled", "the store is closed")


async def test_incompatible_payload_is_returned_for_another_release(bench: Bench) -> None:
    @bench.app.task(max_attempts=9)
    async def strict(n: int) -> None: ...

    (task_id,) = bench.enqueue(strict.task(n=1).options(payload={"n": "one", "m": 2}))

    async with bench.working():
        await bench.ended_once(task_id)

    task = bench.task(task_id)
    assert (task.state, task.attempt) == ("pending", 0)
    assert "payload of 'strict'" in (task.error or "")


class Uncommon(BaseException):
    """An error that is not even an Exception."""


@pytest.mark.parametrize("error", [Uncommon("odd"), SystemExit(3), GeneratorExit(), asyncio.CancelledError()])
async def test_crashing_handler_does_not_affect_other_tasks(bench: Bench, error: BaseException) -> None:
    others_may_end = asyncio.Event()

    @bench.app.task(max_attempts=1)
    async def crash() -> None:
        raise error

    @bench.app.task
    async def stay() -> str:
        await others_may_end.wait()
        return "untouched"

    stays, crashes, after = bench.enqueue(stay.task().options(priority=1), crash.task(), crash.task())

    async with bench.working(slots=2):
        await bench.finished(crashes, after)
        others_may_end.set()
        (stayed,) = await bench.finished(stays)

    assert stayed.result == "untouched"
    assert type(error).__name__ in (bench.task(crashes).error or "")


async def test_plain_function_that_exits_fails_only_its_task(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    def leave() -> None:
        raise SystemExit(1)

    first, second = bench.enqueue(leave.task(), leave.task())

    async with bench.working():
        tasks = await bench.finished(first, second)

    assert [task.state for task in tasks] == ["failed", "failed"]


async def test_text_that_the_database_cannot_store_does_not_keep_the_task_open(bench: Bench) -> None:

    @bench.app.task(max_attempts=1)
    async def nasty(kind: str) -> object:
        if kind == "error":
            raise ValueError("nul \0 and half a pair \ud800")
        return {"nul": "\0"} if kind == "nul" else float("nan") if kind == "nan" else object()

    ids = bench.enqueue(*(nasty.task(kind=kind) for kind in ("error", "nul", "nan", "object")))

    async with bench.working():
        error, *results = await bench.finished(*ids)

    assert error.state == "failed"
    assert "half a pair" in (error.error or "")
    assert all(isinstance(task.result, UnstoredResult) for task in results)


async def test_follow_up_records_its_origin_task(bench: Bench) -> None:

    @bench.app.task
    async def second(n: int) -> None: ...

    @bench.app.task
    async def first(ctx: Context) -> None:
        ctx.follow_up(second.task(n=ctx.task_id))

    (task_id,) = bench.enqueue(first.task())

    async with bench.working():
        await bench.finished(task_id)
        await bench.finished(task_id + 1)

    follow_up = bench.task(task_id + 1)
    assert (follow_up.handler, follow_up.chain_id, follow_up.origin_id) == ("second", task_id + 1, task_id)
    assert follow_up.payload == {"n": task_id}


async def test_outcomes_wait_while_the_engine_is_being_upgraded(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @bench.app.task
    async def work() -> str:
        bench.connection.execute("alter function rolecall.finish_free(bigint, jsonb, boolean) rename to elsewhere")
        return "kept"

    (task_id,) = bench.enqueue(work.task())

    async with bench.working():
        await until(lambda: "cannot be stored yet" in caplog.text)
        assert bench.task(task_id).state == "running"
        bench.connection.execute("alter function rolecall.elsewhere(bigint, jsonb, boolean) rename to finish_free")
        (task,) = await bench.finished(task_id)

    assert (task.result, task.attempt) == ("kept", 1)


async def test_rejected_follow_up_fails_only_its_own_task(bench: Bench) -> None:

    @bench.app.task(max_attempts=1)
    async def spawn(role: str | None) -> str:
        return "fine"

    @bench.app.task(max_attempts=1)
    async def bad(ctx: Context) -> None:
        ctx.follow_up(NewTask(role="nobody_declared_this"))

    ids = bench.enqueue(*(spawn.task(role=None) for _ in range(20)), bad.task(), spawn.task(role=None))

    async with bench.working(slots=22):
        tasks = await bench.finished(*ids)

    assert [task.state for task in tasks] == ["completed"] * 20 + ["failed", "completed"]
    assert "nobody_declared_this" in (tasks[20].error or "")
