"""A key with a capacity, while processes that run its tasks are killed."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack
from functools import partial

from tests.scenarios.places import Places
from tests.scenarios.victims import Victims
from tests.worker.bench import Bench, until

TASKS = 40
PROCESSES = 3
KILLED_AFTER = (5, 15, 25)


async def test_key_of_capacity_three_never_runs_four_tasks_despite_worker_kills(
    victims: Victims,
) -> None:
    """The handlers' own files say how many ran at once."""
    bench, places = victims.bench, Places(victims.folder)
    task = bench.app.handlers["occupy"].task().options(key="tenant:7")
    ids = bench.enqueue(*[task] * TASKS)

    with ExitStack() as stack:
        workers = [stack.enter_context(victims.process(f"worker-{number}")) for number in range(PROCESSES)]
        for finished in KILLED_AFTER:
            await until(partial(have_finished, bench, finished), 60)
            await until(partial(kill_a_holder, places, workers), 60)
            workers.append(stack.enter_context(victims.process(f"after-{finished}")))
        tasks = await bench.finished(*ids, within=120)

    # While the place of one that was killed waits for its lease to run out, there may be fewer.
    assert 1 < places.most() <= 3
    assert {task.state for task in tasks} == {"completed"}
    assert max(task.attempt for task in tasks) > 1


def have_finished(bench: Bench, number: int) -> bool:
    return bool(bench.ask("select count(*) >= %s from rolecall.finished_tasks", number))


def kill_a_holder(places: Places, workers: list[subprocess.Popen[bytes]]) -> bool:
    """Kill a worker while it runs a task of the key. Return false if there is none at this moment."""
    with places.closed():
        for worker in workers:
            if worker.pid in places.holders():
                # The handler must not end between the look and the kill.
                worker.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, worker.pid, os.WSTOPPED | os.WNOWAIT)
                if worker.pid in places.holders():
                    worker.kill()
                    return True
                worker.send_signal(signal.SIGCONT)
    return False
