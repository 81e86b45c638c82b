from __future__ import annotations

import asyncio
import signal

import pytest

from rolecall.config.failpoints import EXIT_CODE
from tests.scenarios.victims import Victims, ended
from tests.worker.bench import until

NUMBER = 12


@pytest.mark.parametrize("place", ["after_claim:2", "mid_handler:3", "before_finish:2", "after_finish:2"])
async def test_worker_killed_at_any_point_loses_nothing_and_duplicates_nothing(victims: Victims, place: str) -> None:
    ids = victims.enqueue("record", NUMBER)
    with victims.process("first", failpoint=place) as first:
        assert await ended(first) == EXIT_CODE

    with victims.process("second"):
        tasks = await victims.bench.finished(*ids, within=60)

    assert [(task.state, task.result["n"]) for task in tasks] == [("completed", n) for n in range(NUMBER)]
    assert {victims.times_finished(task_id) for task_id in ids} == {1}
    assert all(task.attempt <= 2 for task in tasks)
    for task in tasks:
        # Outside effects happen at least once; one crash repeats them at most once.
        assert 1 <= len(victims.effects(task.id)) <= 2


async def test_kill_after_the_finish_repeats_no_finished_task(victims: Victims) -> None:
    ids = victims.enqueue("record", NUMBER)
    with victims.process("first", failpoint="after_finish:2") as first:
        assert await ended(first) == EXIT_CODE
    done = [task_id for task_id in ids if victims.bench.task(task_id).is_finished]

    with victims.process("second"):
        await victims.bench.finished(*ids, within=60)

    assert done
    assert {len(victims.effects(task_id)) for task_id in done} == {1}
    assert {victims.bench.task(task_id).attempt for task_id in done} == {1}


@pytest.mark.parametrize("place", ["after_claim:2", "mid_handler:4"])
async def test_writes_committed_with_the_completion_happen_exactly_once(victims: Victims, place: str) -> None:
    ids = victims.enqueue("record_and_complete", NUMBER)
    with victims.process("first", failpoint=place) as first:
        assert await ended(first) == EXIT_CODE

    with victims.process("second"):
        tasks = await victims.bench.finished(*ids, within=60)

    assert {task.state for task in tasks} == {"completed"}
    assert [len(victims.effects(task_id)) for task_id in ids] == [1] * NUMBER


async def test_worker_killed_during_its_finish_leaves_each_task_finished_once(victims: Victims) -> None:
    (task_id,) = victims.enqueue("record", 1)
    with victims.process("first") as first:
        await until(lambda: victims.effects(task_id) or first.poll() is not None)
        with victims.bench.connection.transaction():
            victims.bench.connection.execute("lock table rolecall.finished_tasks in access exclusive mode")
            await asyncio.sleep(0.1)
            first.send_signal(signal.SIGKILL)
            assert await ended(first) == -signal.SIGKILL

    with victims.process("second"):
        await victims.bench.finished(task_id, within=60)

    assert victims.times_finished(task_id) == 1


async def test_task_that_kills_its_worker_finally_fails(victims: Victims) -> None:
    (task_id,) = victims.bench.enqueue(victims.bench.app.handlers["record"].task(n=1).options(max_attempts=2))
    for name in ("first", "second"):
        with victims.process(name, failpoint="mid_handler") as process:
            assert await ended(process) == EXIT_CODE

    with victims.process("third"):
        (task,) = await victims.bench.finished(task_id, within=60)

    assert (task.state, task.attempt) == ("failed", 2)
    # By the process's end, or by the lease where a slow machine takes longer to start the third one.
    assert str(task.error).startswith(("its worker died", "the lease ran out"))
