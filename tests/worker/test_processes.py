"""Process handlers: their results, and the end of their processes."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from pathlib import Path

import psutil
import pytest

from rolecall import InvalidDeclaration, TaskState, Worker, immediate
from tests.worker import crunching
from tests.worker.bench import Bench, until


def children() -> list[psutil.Process]:
    """Return the child processes that workers of this process have started for handlers."""
    return [
        each for each in psutil.Process().children() if "rolecall.worker.subprocess.child" in " ".join(each.cmdline())
    ]


def has_ended(pid: int) -> bool:
    """Return whether all threads of a child process have ended, and leave its exit code to the worker."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


async def test_handler_decorated_in_its_module_runs_in_another_process(bench: Bench) -> None:
    bench.app.include(crunching.app)
    box = {"width": 2, "height": 3, "packed_at": "2026-01-01T00:00:00Z"}
    (task_id,) = bench.enqueue(crunching.measure.task(box=box))  # type: ignore[arg-type]  # as JSON has it

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.result["area"], task.result["packed"]) == (6, "2026-01-01T00:00:00Z")
    assert task.result["pid"] != os.getpid()


async def test_process_has_its_attempts_context_and_logs_through_the_worker(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    handler = bench.app.task(process=True)(crunching.introduce)
    (task_id,) = bench.enqueue(handler.task(sign="the mill").options(key="store:7"))

    with caplog.at_level(logging.INFO):
        async with bench.working():
            (task,) = await bench.finished(task_id)

    assert task.result == {"id": task_id, "attempt": 1, "key": "store:7", "once": f"{task_id}:0"}
    (record,) = [each for each in caplog.records if each.getMessage() == "the mill at work"]
    assert (record.__dict__["task"], record.process != os.getpid()) == (task_id, True)


async def test_debug_record_of_rolecall_is_logged_from_a_process(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    handler = bench.app.task(process=True)(crunching.whisper)
    (task_id,) = bench.enqueue(handler.task())

    with caplog.at_level(logging.DEBUG, "rolecall"):
        async with bench.working():
            await bench.finished(task_id)

    assert "the mill whispers" in caplog.messages


@pytest.mark.parametrize(
    ("kind", "state", "attempt", "error"),
    [
        ("error", "pending", 1, "ValueError: bad price"),
        ("permanent", "failed", 1, "PermanentFailure: never again"),
        ("retry", "pending", 1, "OSError: busy"),
        ("snooze", "pending", 0, ""),
        ("cancel", "cancelled", 1, "pointless"),
        ("leave", "pending", 1, "SystemExit: 3"),
    ],
)
async def test_every_outcome_of_a_function_in_a_process_is_recorded(
    bench: Bench, kind: str, state: TaskState, attempt: int, error: str
) -> None:
    handler = bench.app.task(process=True, max_attempts=9)(crunching.decide)
    (task_id,) = bench.enqueue(handler.task(kind=kind))

    async with bench.working():
        await bench.ended_once(task_id)

    task = bench.task(task_id)
    assert (task.state, task.attempt) == (state, attempt)
    assert error in (task.error or "")


async def test_process_can_wait_for_another_task(bench: Bench) -> None:
    handler = bench.app.task(process=True)(crunching.wait_for)
    (needed,) = bench.enqueue(handler.task(task_id=0).options(after=3600))
    (waiting,) = bench.enqueue(handler.task(task_id=needed))

    async with bench.working():
        task = await bench.state(waiting, "blocked")

    assert task.attempt == 0


async def test_error_shows_where_it_was_raised(bench: Bench) -> None:
    handler = bench.app.task(process=True, max_attempts=1)(crunching.decide)
    (task_id,) = bench.enqueue(handler.task(kind="error"))

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert "in decide" in (task.error or "")
    assert "rolecall/worker" not in (task.error or "")


async def test_unserializable_result_completes_its_task_and_bad_payload_is_returned(
    bench: Bench,
) -> None:
    handler = bench.app.task(process=True, max_attempts=9)(crunching.decide)
    odd, wrong = bench.enqueue(handler.task(kind="odd"), handler.task(kind="odd").options(payload={"kind": 7}))

    async with bench.working():
        [unstorable] = await bench.finished(odd)
        await bench.ended_once(wrong)

    unfit = bench.task(wrong)
    assert "has no JSON form" in unstorable.result.why
    assert (unfit.state, unfit.attempt) == ("pending", 0)
    assert "payload of 'decide'" in (unfit.error or "")


async def test_function_in_a_process_can_ignore_unknown_fields(bench: Bench) -> None:
    handler = bench.app.task(process=True, extra="ignore")(crunching.decide)
    payload = {"kind": "odd", "new": True}
    [task_id] = bench.enqueue(handler.task(kind="odd").options(payload=payload))

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.state == "completed"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("exit 0", "exited with code 0"),
        ("exit 7", "exited with code 7"),
        ("segfault", "was killed by SIGSEGV"),
        ("out of memory", "was killed by SIGKILL"),
        ("hang up", "was killed by SIGKILL"),
    ],
)
async def test_crashing_process_costs_only_its_own_task_an_attempt(bench: Bench, how: str, expected: str) -> None:
    handler = bench.app.task(process=True, max_attempts=2, retry=immediate())(crunching.die)
    after = bench.app.task(process=True)(crunching.introduce)
    dies, lives = bench.enqueue(handler.task(how=how), after.task(sign="after"))

    async with bench.working():
        died, lived = await bench.finished(dies, lives)

    assert (died.state, died.attempt) == ("failed", 2)
    assert f"the handler's process {expected}" in (died.error or "")
    assert (lived.state, lived.attempt) == ("completed", 1)


async def test_process_starts_on_demand_and_is_reused(bench: Bench, tmp_path: Path) -> None:
    handler = bench.app.task(process=True)(crunching.linger)
    (tmp_path / "go").touch()
    bench.enqueue()

    async with bench.working(slots=3):
        await until(lambda: bench.ask("select count(*) from rolecall.workers"))
        before = children()
        tasks = []
        for _ in range(3):
            tasks += await bench.finished(*bench.enqueue(handler.task(folder=str(tmp_path))))

    assert before == []
    assert len({task.result["pid"] for task in tasks}) == 1


async def test_process_retains_nothing_of_the_tasks_it_has_run(bench: Bench) -> None:
    handler = bench.app.task(process=True)(crunching.requests_known)

    async with bench.working(slots=1):
        tasks = await bench.finished(*bench.enqueue(*(handler.task() for _ in range(3))))

    assert [task.result for task in tasks] == [1, 1, 1]


async def test_number_of_processes_does_not_exceed_the_slots(bench: Bench, tmp_path: Path) -> None:
    handler = bench.app.task(process=True)(crunching.linger)
    ids = bench.enqueue(*(handler.task(folder=str(tmp_path)) for _ in range(6)))

    async with bench.working(slots=2):
        await until(lambda: len(children()) == 2)
        (tmp_path / "go").touch()
        tasks = await bench.finished(*ids)

    assert len({task.result["pid"] for task in tasks}) == 2


async def test_dead_idle_process_is_replaced_without_spending_an_attempt(bench: Bench, tmp_path: Path) -> None:
    handler = bench.app.task(process=True, max_attempts=1)(crunching.linger)
    (tmp_path / "go").touch()

    async with bench.working():
        (first,) = await bench.finished(*bench.enqueue(handler.task(folder=str(tmp_path))))
        os.kill(first.result["pid"], signal.SIGKILL)
        await until(lambda: has_ended(first.result["pid"]))
        (second,) = await bench.finished(*bench.enqueue(handler.task(folder=str(tmp_path))))

    assert (second.state, second.result["pid"] != first.result["pid"]) == ("completed", True)


async def test_stopping_worker_lets_its_process_finish_and_leaves_none_behind(bench: Bench, tmp_path: Path) -> None:
    handler = bench.app.task(process=True)(crunching.linger)
    (task_id,) = bench.enqueue(handler.task(folder=str(tmp_path)))

    async with bench.working(grace=10) as worker:
        await until((tmp_path / "begun-1").exists)
        worker.stop()
        # A terminal or a service manager signals the whole process group.
        children()[0].send_signal(signal.SIGTERM)
        children()[0].send_signal(signal.SIGINT)
        (tmp_path / "go").touch()

    assert bench.task(task_id).state == "completed"
    assert children() == []
    await until(lambda: not [each for each in threading.enumerate() if each.name.startswith("rolecall-process")])


async def test_handler_that_another_process_cannot_import_is_rejected_at_startup(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.app.task(process=True)(crunching.linger)
    monkeypatch.setattr(crunching, "linger", crunching.grind)

    with pytest.raises(InvalidDeclaration, match=r"tests\.worker\.crunching\.linger is not its function"):
        await asyncio.wait_for(Worker(bench.app, bench.dsn).run(), 10)
