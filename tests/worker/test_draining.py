from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, thread_time

from rolecall import Cancel, Context, Snooze, WaitFor
from tests.worker.bench import Bench, until


async def test_worker_completes_all_enqueued_tasks(bench: Bench) -> None:
    ran: list[int] = []

    @bench.app.task
    async def count(n: int) -> dict[str, int]:
        ran.append(n)
        return {"n": n}

    ids = bench.enqueue(*(count.task(n=n) for n in range(300)))

    async with bench.working():
        tasks = await bench.finished(*ids)

    assert sorted(ran) == list(range(300))
    assert [task.result["n"] for task in tasks] == list(range(300))
    assert {task.attempt for task in tasks} == {1}


async def test_full_claim_is_followed_immediately_by_the_next(bench: Bench) -> None:
    """The worker continues as long as claims are full: a backlog takes less than one poll interval."""
    poll_interval = 8.0
    ended: list[float] = []

    @bench.app.task
    async def count(n: int) -> None:
        ended.append(monotonic())

    ids = bench.enqueue(*(count.task(n=n) for n in range(200)))

    async with bench.working(slots=1, poll_interval=poll_interval):
        await bench.finished(*ids)

    assert ended[-1] - ended[0] < poll_interval


async def test_single_slot_runs_tasks_by_priority(bench: Bench) -> None:
    ran: list[int] = []

    @bench.app.task
    async def count(n: int) -> None:
        ran.append(n)

    ids = bench.enqueue(*(count.task(n=n).options(priority=n) for n in (0, 5, -3, 9)))

    async with bench.working():
        await bench.finished(*ids)

    assert ran == [9, 5, 0, -3]


async def test_slots_run_concurrently(bench: Bench) -> None:
    together = asyncio.Barrier(3)

    @bench.app.task
    async def meet(n: int) -> None:
        await together.wait()

    ids = bench.enqueue(*(meet.task(n=n) for n in range(3)))

    async with bench.working(slots=3):
        assert all(task.state == "completed" for task in await bench.finished(*ids))


async def test_worker_claims_only_tasks_of_its_roles_and_handlers(bench: Bench) -> None:

    @bench.app.task(role="mail")
    async def send() -> None: ...

    @bench.app.task(role="other")
    async def leave() -> None: ...

    mine, others, unknown = bench.enqueue(
        send.task(), leave.task(), send.task().options(handler="from_a_newer_release", role="mail")
    )

    async with bench.working(roles=("mail",)):
        await bench.finished(mine)

    assert bench.task(others).state == "pending"
    assert bench.task(unknown).state == "pending"


async def test_plain_function_runs_in_a_thread_of_its_slot(bench: Bench) -> None:
    seen: list[str] = []

    @bench.app.task
    def work(ctx: Context, n: int) -> str:
        seen.append(threading.current_thread().name)
        ctx.check()
        ctx.wait(ctx.info({"half": n}))
        return "done"

    (task_id,) = bench.enqueue(work.task(n=4))

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.result == "done"
    assert task.info == {"half": 4}
    assert seen == ["rolecall-slot-1"]


@dataclass
class Item:
    n: int


async def test_batch_handler_receives_many_tasks_in_one_call(bench: Bench) -> None:
    calls: list[list[int]] = []

    @bench.app.task(batch=50)
    async def store(items: list[Item]) -> list[int]:
        calls.append([item.n for item in items])
        return [item.n * 2 for item in items]

    ids = bench.enqueue(*(store.task(n=n) for n in range(120)))

    async with bench.working():
        tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == [n * 2 for n in range(120)]
    assert [len(call) for call in calls] == [50, 50, 20]


async def test_each_task_of_a_batch_has_its_own_outcome(bench: Bench) -> None:

    @bench.app.task(batch=10, max_attempts=1)
    def store(items: list[Item]) -> list[object]:
        outcomes = {0: "fine", 1: ValueError("bad one"), 2: Snooze(3600), 3: Cancel("pointless")}
        return [outcomes[item.n] for item in items]

    ids = bench.enqueue(*(store.task(n=n) for n in range(4)), store.task(n=0).options(payload={"n": "zero"}))

    async with bench.working():
        await bench.finished(ids[0], ids[1], ids[3])
        await bench.state(ids[2], "pending")
        await bench.ended_once(ids[4])

    fine, bad, snoozed, pointless, misfit = map(bench.task, ids)
    assert (fine.state, fine.result) == ("completed", "fine")
    assert bad.state == "failed"
    assert "bad one" in (bad.error or "")
    assert (snoozed.state, snoozed.attempt) == ("pending", 0)
    assert (pointless.state, pointless.error) == ("cancelled", "pointless")
    assert (misfit.state, misfit.attempt) == ("pending", 0)


async def test_batch_can_wait_for_a_task_as_a_whole(bench: Bench) -> None:
    [late] = bench.enqueue(bench.app.task("late")(lambda: None).task().options(after=3600))

    @bench.app.task(batch=10)
    def store(items: list[Item]) -> WaitFor:
        return WaitFor(late)

    ids = bench.enqueue(store.task(n=1), store.task(n=2))

    async with bench.working():
        for task_id in ids:
            await bench.state(task_id, "blocked")


async def test_batch_that_returns_too_few_results_fails_as_a_whole(bench: Bench) -> None:
    @bench.app.task(batch=10, max_attempts=1)
    async def store(items: list[Item]) -> list[int]:
        return [1]

    ids = bench.enqueue(store.task(n=1), store.task(n=2))

    async with bench.working():
        tasks = await bench.finished(*ids)

    assert {task.state for task in tasks} == {"failed"}
    assert "got 1 results for 2 items" in (tasks[0].error or "")


@contextmanager
def uncollected() -> Iterator[None]:
    """A full garbage collection takes this thread longer the more tests its process has run."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def test_handler_that_never_suspends_does_not_starve_the_loop(bench: Bench) -> None:
    @bench.app.task
    async def spin(n: int) -> None: ...

    ids = bench.enqueue(*(spin.task(n=n) for n in range(2_000)))
    loop = asyncio.get_running_loop()
    longest, last = 0.0, thread_time()  # other load and the time in the database do not count

    def watch() -> None:
        nonlocal longest, last
        now = thread_time()
        longest, last = max(longest, now - last), now
        loop.call_later(0.001, watch)

    with uncollected():
        async with bench.working():
            await until(lambda: bench.ask("select count(*) from rolecall.all_tasks where state = 'running'"))
            last = thread_time()
            watch()
            await until(lambda: not bench.ask("select count(*) from rolecall.tasks"))

    assert len(ids) == 2_000
    assert longest < 0.2
