"""Results with a success flag decide the outcome; the example handlers are available on request."""

from __future__ import annotations

import pytest

from rolecall import NewTask, task_results
from rolecall.task_results import TaskResult
from tests.worker.bench import Bench


async def test_examples_succeed_and_an_unsuccessful_result_fails_the_attempt(bench: Bench) -> None:
    """Covers sync and async handlers of one worker. The delay before the next attempt is that of the role."""
    bench.app.include(task_results.examples())
    bench.app.use(task_results.judged)

    @bench.app.task(role=task_results.ROLE)
    def report(n: int) -> TaskResult:
        return TaskResult(success=False, message="m" * 600, data=n)

    sent = {"type": "echo", "n": [1, None]}
    wanted = [NewTask(handler=name, payload=sent) for name in ("dummy", "echo", "default")]
    ids = bench.enqueue(*wanted, NewTask(handler="report", payload={"n": 1}))
    async with bench.working(slots=4):
        done = await bench.finished(*ids[:3])
        await bench.ended_once(ids[3])
        failed = await bench.state(ids[3], "pending")

    assert [task.result["success"] for task in done] == [True, True, True]
    assert [task.result["data"] for task in done] == [None, sent, sent]
    assert all(task.worker_id for task in done)
    headline = (failed.error or "").partition("\n")[0]
    assert headline == f"rolecall.task_results.TaskFailed: {'m' * 500}"
    assert (failed.attempt, failed.max_attempts) == (1, 6)
    delay = bench.ask("select scheduled_for - at from rolecall.tasks join rolecall.task_events on task_id = id")
    assert 4.5 <= delay.total_seconds() <= 5


def test_app_has_no_example_handlers_by_default(bench: Bench) -> None:
    assert not {"dummy", "echo", "default"} & set(bench.app.handlers)


@pytest.mark.parametrize("length", [500, 501])
def test_message_is_truncated_to_500_characters(length: int) -> None:
    assert len(TaskResult(success=True, message="x" * length).message) == 500


async def test_task_of_a_handler_without_workers_waits_and_spends_no_attempt(bench: Bench) -> None:
    bench.app.role("lane")

    @bench.app.task(role="lane")
    async def known() -> None: ...

    unknown, other = bench.enqueue(NewTask(handler="gone", role="lane"), NewTask(handler="known"))
    async with bench.working():
        await bench.finished(other)

    assert (bench.task(unknown).state, bench.task(unknown).attempt) == ("pending", 0)
