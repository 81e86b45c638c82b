"""A process handler is killed during any operation, and its task is reported after its death."""

from __future__ import annotations

import re
from pathlib import Path

import psutil
import pytest

from rolecall import HandlerDefinition, immediate
from tests.worker import crunching
from tests.worker.bench import SOON, Bench, until

LEASE = 0.4
TAKE_OVER = (
    "update rolecall.tasks set fence = fence + 1, worker_id = 0, lease_until = now() + interval '1 h' returning 1"
)


async def begun(tmp_path: Path) -> int:
    """Wait until the first attempt has begun; return its process id."""
    sign = tmp_path / "begun-1"
    await until(sign.exists)
    return int(sign.read_text())


def all_begun(tmp_path: Path) -> list[int]:
    """Return the processes of all attempts that have begun. On a busy machine, one may have ended earlier."""
    return [int(sign.read_text()) for sign in tmp_path.glob("begun-*")]


async def test_cancelled_process_is_killed_immediately_and_dead_when_its_task_finishes(
    bench: Bench, tmp_path: Path
) -> None:
    handler = bench.app.task(process=True, lease=60)(crunching.grind)
    (task_id,) = bench.enqueue(handler.task(folder=str(tmp_path)))

    async with bench.working():
        pid = await begun(tmp_path)
        bench.cancel(task_id)
        (task,) = await bench.finished(task_id, within=SOON)
        alive = psutil.pid_exists(pid)

    assert (task.state, alive) == ("cancelled", False)


async def test_process_over_its_timeout_is_killed_and_retried_by_the_policy(bench: Bench, tmp_path: Path) -> None:
    handler = bench.app.task(process=True, lease=60, timeout=1.0, max_attempts=2, retry=immediate())(crunching.grind)
    (task_id,) = bench.enqueue(handler.task(folder=str(tmp_path)))

    async with bench.working():
        (task,) = await bench.finished(task_id)
        alive = [pid for pid in all_begun(tmp_path) if psutil.pid_exists(pid)]

    assert (task.state, task.attempt, alive) == ("failed", 2, [])
    assert re.search("did not (finish|begin) within 1 s", task.error or "")
    events = "select array_agg(kind order by at) from rolecall.task_events where task_id = %s"
    assert bench.ask(events, task_id) == ["timeout", "timeout"]


@pytest.mark.parametrize("loss", [TAKE_OVER, "delete from rolecall.tasks returning 1"], ids=["taken", "deleted"])
async def test_process_of_a_lost_task_is_killed_and_writes_nothing(bench: Bench, tmp_path: Path, loss: str) -> None:
    handler = bench.app.task(process=True, lease=LEASE)(crunching.grind)
    bench.enqueue(handler.task(folder=str(tmp_path)))

    async with bench.working():
        pid = await begun(tmp_path)
        bench.ask(loss)
        await until(lambda: not psutil.pid_exists(pid))

    assert bench.ask("select count(*) from rolecall.finished_tasks") == 0
    assert bench.ask("select count(*) from rolecall.tasks where worker_id is distinct from 0") == 0


async def test_process_over_the_grace_period_is_killed_and_its_attempt_refunded(bench: Bench, tmp_path: Path) -> None:
    handler: HandlerDefinition[..., None] = bench.app.task(process=True)(crunching.grind)
    (task_id,) = bench.enqueue(handler.task(folder=str(tmp_path)))

    async with bench.working(grace=0.1):
        pid = await begun(tmp_path)

    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)
    await until(lambda: not psutil.pid_exists(pid))


async def test_process_can_be_stopped_while_it_starts(bench: Bench, tmp_path: Path) -> None:
    handler = bench.app.task(process=True, timeout=0.05, max_attempts=1)(crunching.grind)
    (task_id,) = bench.enqueue(handler.task(folder=str(tmp_path)))

    async with bench.working():
        (task,) = await bench.finished(task_id)
        alive = psutil.Process().children()

    assert (task.state, task.error) == ("failed", "the handler did not begin within 0.05 s")
    assert [each for each in alive if "rolecall.worker.subprocess.child" in " ".join(each.cmdline())] == []


async def test_slot_of_a_killed_process_runs_the_next_task(bench: Bench, tmp_path: Path) -> None:
    killed = bench.app.task(process=True, timeout=1.0, max_attempts=1)(crunching.grind)
    after = bench.app.task(process=True)(crunching.introduce)
    ids = bench.enqueue(killed.task(folder=str(tmp_path)).options(priority=1), after.task(sign="next"))

    async with bench.working():
        tasks = await bench.finished(*ids)

    assert [task.state for task in tasks] == ["failed", "completed"]
