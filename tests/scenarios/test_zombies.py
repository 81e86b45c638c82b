from __future__ import annotations

import signal
from time import monotonic

from tests.scenarios.victims import Victims, ended
from tests.worker.bench import until

UNBEGUN = """
select count(*) >= 10 from rolecall.tasks
where state = 'running' and not exists (select from begins where begins.task_id = tasks.id)
"""


async def test_worker_suspended_past_its_lease_changes_nothing_when_it_resumes(victims: Victims) -> None:
    bench = victims.bench
    (task_id,) = bench.enqueue(bench.app.handlers["linger"].task())
    with victims.process("zombie") as zombie:
        await until(victims.sign("begun-1").exists)
        await until(lambda: bench.task(task_id).started_at)
        zombie.send_signal(signal.SIGSTOP)
        with victims.process("owner"):
            # The second attempt still runs when the zombie returns: only the fence can tell them apart.
            await until(victims.sign("begun-2").exists, 60)
            victims.sign("go-1").touch()
            zombie.send_signal(signal.SIGCONT)

            await until(lambda: "taken" in victims.log("zombie"))

            assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("running", 2)
            victims.sign("go-2").touch()
            (task,) = await bench.finished(task_id)

    assert (task.state, task.result) == ("completed", {"attempt": 2})


async def test_unstarted_tasks_of_a_worker_suspended_past_its_lease_do_not_start(victims: Victims) -> None:
    bench = victims.bench
    ids = victims.enqueue("note", 1000)
    with victims.process("zombie") as zombie:
        while not bench.ask(UNBEGUN):
            zombie.send_signal(signal.SIGCONT)
            await until(lambda: bench.ask(UNBEGUN))
            zombie.send_signal(signal.SIGSTOP)
        with victims.process("owner"):
            await bench.finished(*ids, within=60)
            thawed_at = monotonic()
            zombie.send_signal(signal.SIGCONT)
            await until(lambda: bench.ask("select bool_and(idle) from rolecall.all_workers"))
            zombie.send_signal(signal.SIGTERM)
            assert await ended(zombie) == 0

    assert bench.ask("select count(*) from begins where began > %s", thawed_at) == 0


async def test_stopped_process_returns_its_running_task_and_exits_successfully(victims: Victims) -> None:
    bench = victims.bench
    (task_id,) = bench.enqueue(bench.app.handlers["linger"].task())
    with victims.process("first") as first:
        await until(victims.sign("begun-1").exists)
        first.send_signal(signal.SIGTERM)
        await until(lambda: "running tasks may finish" in victims.log("first"))
        first.send_signal(signal.SIGTERM)

        assert await ended(first) == 0

    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)
