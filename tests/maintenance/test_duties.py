from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TypeVar

import pytest

from rolecall import linear
from rolecall.db.run import run
from rolecall.maintenance import duties
from rolecall.maintenance.duties import Duty
from rolecall.maintenance.runner import MaintenanceRunner, rest_after
from rolecall.maintenance.runs import DutySession
from rolecall.model.operator.doctor import DutyState
from rolecall.model.workers import DutyStatus, WorkerInfo
from rolecall.sql import claims, doctor, keys, retention, roles, schedules, workers
from rolecall.sql.statement import Statement
from rolecall.worker.session import DatabaseSession, DatabaseSessions
from tests.worker.bench import Bench, until

T = TypeVar("T")
RENEW = "update rolecall.tasks set lease_until = clock_timestamp() + interval '1 min' where id = %s returning 1"
PARTITIONS = "select count(*) from pg_class where relname like 'finished_tasks_2%%'"


@pytest.fixture
async def session(bench: Bench) -> AsyncIterator[DatabaseSession]:
    session = DatabaseSessions(bench.dsn, deadline=5).open("maintain")
    yield session
    await session.close()


def lose(bench: Bench, number: int) -> list[int]:
    """Claim tasks for a worker that then disappears. Rescued tasks wait."""

    @bench.app.task(lease=0.1, retry=linear(step=3600, cap=3600))
    async def work() -> None: ...

    ids = bench.enqueue(*(work.task() for _ in range(number)))
    info = WorkerInfo(name="lost", roles=(), handlers=("work",), slots=1, host="h", pid=1, version="0")
    lost = run(bench.connection, workers.register(info))
    run(bench.connection, claims.claim(lost, [], ["work"], number))
    return ids


async def test_all_tasks_of_a_lost_worker_are_rescued_in_one_run(
    bench: Bench, session: DatabaseSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duties, "MOST_RESCUED", 10)
    ids = lose(bench, 25)
    await asyncio.sleep(0.3)

    summary = await duties.rescue(session)

    assert summary == "Rescued 25 tasks of lost workers: 25 pending"
    assert {bench.task(task_id).state for task_id in ids} == {"pending"}
    assert await duties.rescue(session) is None


async def test_task_renewed_after_its_rescue_query_stays_with_its_worker(
    bench: Bench, session: DatabaseSession
) -> None:
    """As after a stall of the server: all leases have expired, and live workers renew theirs."""
    late, alive = lose(bench, 2)
    await until(lambda: bench.ask("select bool_and(lease_until < clock_timestamp()) from rolecall.tasks"))

    assert (
        await duties.rescue(RenewsAfterTheLook(session, bench, alive)) == "Rescued 1 tasks of lost workers: 1 pending"
    )
    assert [bench.task(task_id).state for task_id in (late, alive)] == ["pending", "running"]


class RenewsAfterTheLook:
    """A session whose statements are followed by a renewal of one task."""

    def __init__(self, session: DatabaseSession, bench: Bench, task_id: int) -> None:
        self._session, self._bench, self._task_id = session, bench, task_id

    async def run(self, statement: Statement[T]) -> T:
        answer = await self._session.run(statement)
        if "find_expired" in statement.query:
            self._bench.ask(RENEW, self._task_id)
        return answer


async def test_all_expired_tasks_are_cancelled_in_one_run(
    bench: Bench, session: DatabaseSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duties, "MOST_RESCUED", 10)

    @bench.app.task
    async def push() -> None: ...

    yesterday = datetime.now(UTC) - timedelta(days=1)
    ids = bench.enqueue(*[push.task().options(expires=yesterday)] * 25)

    assert await duties.expire(session) == "Cancelled 25 expired tasks"
    assert {bench.task(task_id).state for task_id in ids} == {"cancelled"}
    assert await duties.expire(session) is None


async def test_due_schedules_fire_once_despite_several_schedulers(bench: Bench, session: DatabaseSession) -> None:

    @bench.app.task
    async def sweep() -> None: ...

    bench.enqueue()
    run(bench.connection, schedules.put(bench.app.schedule("sweep often", sweep, every=timedelta(hours=1))))
    other = DatabaseSessions(bench.dsn, deadline=5).open("other")

    summaries = await asyncio.gather(duties.fire(session), duties.fire(other))

    assert sorted(filter(None, summaries)) == ["Fired sweep often"]
    assert bench.ask("select count(*) from rolecall.tasks") == 1
    await other.close()


async def test_housekeeping_creates_the_upcoming_partitions_once(session: DatabaseSession) -> None:
    first = await duties.prune_and_partition(session)

    assert "partitions created" in (first or "")
    assert await duties.prune_and_partition(session) is None


async def test_housekeeping_prunes_until_no_record_is_left(
    bench: Bench, session: DatabaseSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention.prune_due, "__defaults__", (10,))
    bench.connection.execute("insert into rolecall.keys (key) select n::text from generate_series(1, 95) as n")

    summary = await duties.prune_and_partition(session)

    assert "95 keys" in (summary or "")
    assert await duties.prune_and_partition(session) is None


def forget(bench: Bench, number: int) -> list[int]:
    """Leave tasks of this many keys parked although the keys are free, like a bug would."""

    @bench.app.task
    async def work() -> None: ...

    ids = bench.enqueue(*(work.task().options(key=f"k{n:02}") for n in range(number)))
    bench.connection.execute("update rolecall.tasks set parked = true")
    return ids


async def test_forgotten_parked_tasks_are_unparked_in_one_run_and_logged(
    bench: Bench, session: DatabaseSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keys.unpark_due, "__defaults__", (5,))
    ids = forget(bench, 12)

    assert await duties.unpark(session) is None

    named = ", ".join(map(str, ids[:10]))
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", f"Unparked tasks whose keys had free capacity: {named} and 2 more")
    ]
    assert bench.ask("select count(*) from rolecall.tasks where parked") == 0


async def test_nothing_is_logged_without_forgotten_tasks(
    session: DatabaseSession, caplog: pytest.LogCaptureFixture
) -> None:
    assert await duties.unpark(session) is None
    assert caplog.records == []


async def test_worker_runs_forgotten_parked_tasks(bench: Bench) -> None:
    [task_id] = forget(bench, 1)

    async with bench.working(maintenance=True):
        [task] = await bench.finished(task_id)

    assert task.state == "completed"


async def test_stopped_maintenance_leaves_a_long_run_to_the_next_process(session: DatabaseSession) -> None:
    requests = 0

    async def endless(runs: DutySession) -> str | None:
        nonlocal requests
        while True:
            await runs.run(retention.prune_due())
            requests += 1

    runner = MaintenanceRunner(session, [Duty(name="Endless", every=60.0, run_once=endless)])
    running = asyncio.create_task(runner.run())
    await until(lambda: requests > 2)
    runner.stop()

    await asyncio.wait_for(running, 5)


async def test_duty_runs_once_per_period_and_moves_to_another_process(
    session: DatabaseSession,
) -> None:
    done = list[int]()

    def runner(number: int) -> MaintenanceRunner:
        async def count(runs: DutySession) -> None:
            await runs.run(roles.end_pauses())
            done.append(number)

        return MaintenanceRunner(session, [Duty(name="count", every=0.5, run_once=count)])

    crew = [runner(number) for number in range(3)]
    began = monotonic()
    running = [asyncio.create_task(each.run()) for each in crew]
    await until(lambda: len(done) >= 4)
    assert len(done) <= 1 + (monotonic() - began) / 0.5

    ended = done[-1]
    crew[ended].stop()
    await running[ended]

    await until(lambda: done[-1] != ended)
    for each in crew:
        each.stop()
    await asyncio.gather(*running)


@pytest.mark.parametrize(
    ("due", "next_in", "did_last", "workers", "least", "most"),
    [
        (["rescue"], 3.0, False, 100, 1.0, 1.0),
        ([], 3.0, True, 100, 1.0, 1.0),
        ([], 0.3, True, 100, 0.3, 0.3),
        ([], 0.3, False, 2, 0.5, 1.5),
        ([], 0.3, False, 10, 2.5, 7.5),
        ([], None, False, 20, 5.0, 15.0),
    ],
)
def test_last_runner_checks_at_the_due_time_and_others_less_often(
    due: list[str], next_in: float | None, did_last: bool, workers: int, least: float, most: float
) -> None:
    look = DutyStatus(due, next_in, did_last=did_last, workers=workers, latest_worker=7, server_time=0.0, clock_steps=0)

    assert all(least <= rest_after(look) <= most for _ in range(50))


async def test_failing_duty_does_not_affect_others(
    bench: Bench, session: DatabaseSession, caplog: pytest.LogCaptureFixture
) -> None:
    runs = 0

    async def fine(session: DutySession) -> str | None:
        nonlocal runs
        await session.run(roles.end_pauses())
        runs += 1
        return f"Ran {runs}"

    async def broken(session: DutySession) -> str | None:
        await session.run(roles.end_pauses())
        raise ValueError("broken duty")

    duties = [
        Duty(name="broken", every=0.02, run_once=broken),
        Duty(name="fine", every=0.02, run_once=fine),
    ]
    runner = MaintenanceRunner(session, duties)
    with caplog.at_level(logging.INFO, "rolecall.maintenance"):
        running = asyncio.create_task(runner.run())
        await until(lambda: runs >= 3)
        runner.stop()
        await asyncio.wait_for(running, 5)

    assert "Ran 2" in caplog.text
    assert "Broken failed: broken duty" in caplog.text


async def test_outcome_of_each_run_is_recorded(bench: Bench, session: DatabaseSession) -> None:
    broken, runs = True, 0

    async def sometimes(session: DutySession) -> None:
        nonlocal runs
        runs += 1
        await session.run(roles.end_pauses())
        if broken:
            raise ValueError("no room left")

    def now() -> DutyState | None:
        found = run(bench.connection, doctor.duties())
        return found[0] if found else None

    runner = MaintenanceRunner(session, [Duty(name="sometimes", every=0.02, run_once=sometimes)])
    running = asyncio.create_task(runner.run())
    await until(lambda: (found := now()) is not None and found.error == "no room left" and runs > 1)
    failing = now()
    broken = False
    await until(lambda: (found := now()) is not None and found.error is None and found.succeeded_at is not None)
    runner.stop()
    await asyncio.wait_for(running, 5)

    assert failing is not None
    assert failing.succeeded_at is None
    assert failing.unfinished is not None


async def test_duty_that_fails_in_its_first_statement_is_recorded(bench: Bench, session: DatabaseSession) -> None:
    bench.connection.execute("drop function rolecall.roll_up_counts(interval)")
    runner = MaintenanceRunner(session, [each for each in duties.DUTIES if each.name == "counting"])
    running = asyncio.create_task(runner.run())

    await until(lambda: "roll_up_counts" in (bench.ask("select max(error) from rolecall.duties") or ""))

    runner.stop()
    await asyncio.wait_for(running, 5)


async def test_worker_runs_the_regular_duties(bench: Bench) -> None:
    (task_id,) = lose(bench, 1)
    await asyncio.sleep(0.2)

    async with bench.working(maintenance=True):
        await until(lambda: bench.ask("select count(*) from rolecall.task_events where kind = 'crashed'"))
        await until(lambda: bench.ask(PARTITIONS) > 2)
        # Tasks lost with their worker come first.
        await bench.finished(task_id)


async def test_end_of_a_pause_is_logged_once_with_its_role(
    bench: Bench, session: DatabaseSession, caplog: pytest.LogCaptureFixture
) -> None:
    """An expired pause ends with a warning that names it."""
    run(bench.connection, roles.declare([{"name": "mail"}], []))
    run(bench.connection, roles.pause("mail", 0.1, "ada"))
    await until(lambda: bench.ask("select paused_until < rolecall.clock() from rolecall.roles"))

    for _ in range(2):
        assert await duties.end_pauses(session) is None

    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "Role mail continues after its pause of 0.1 s by ada")
    ]
