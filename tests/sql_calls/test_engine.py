"""Every typed call matches the engine's function: its parameters are accepted and its rows are read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from rolecall.db.run import run
from rolecall.model.errors import ScheduleNotFound, TaskNotFound
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.outcomes import Cancelled, Completed, Failed, Report, Snoozed
from rolecall.model.retry import linear, no_retry
from rolecall.model.schedules import Schedule
from rolecall.model.states import TaskState
from rolecall.model.tasks import Claim, ClaimedTask, NewTask, NextTasks
from rolecall.model.workers import Condition, HeartbeatAnswer, WorkerCommand, WorkerInfo
from rolecall.sql import capacity, claims, finding, insight, retention, roles, schedules, tasks, workers
from rolecall.sql.enqueue import enqueue_many

Connection = psycopg.Connection[Any]
INFO = WorkerInfo(name="w1", roles=("r",), handlers=("h",), slots=2, host="here", pid=7, version="0.1")


@pytest.fixture
def conn(connection: Connection) -> Connection:
    run(connection, roles.declare([{"name": "r", "lease": 30}], [{"name": "h", "role": "r"}]))
    return connection


@pytest.fixture
def worker(conn: Connection) -> int:
    return run(conn, workers.register(INFO))


def enqueue(conn: Connection, *batch: NewTask) -> list[int]:
    return [stored.id for stored in run(conn, enqueue_many(batch))]


def claim(conn: Connection, worker: int, limit: int = 10) -> list[ClaimedTask]:
    return run(conn, claims.claim(worker, ["r"], ["h"], limit))


def test_claim_reads_all_fields_of_a_task(conn: Connection, worker: int) -> None:
    (task_id,) = enqueue(conn, NewTask(handler="h", payload={"a": 1}, priority=3, key="k", max_attempts=0))

    (task,) = claim(conn, worker)

    assert (task.id, task.fence, task.attempt, task.max_attempts) == (task_id, 1, 1, 0)
    assert (task.role, task.handler, task.priority, task.key) == ("r", "h", 3, "k")
    assert (task.payload_json, task.lease_seconds) == ('{"a": 1}', 30.0)
    assert (task.chain_id, task.chain_index, task.claim) == (task_id, 0, Claim(task_id, 1))
    assert task.scheduled_for.tzinfo is not None


def test_batch_is_claimed_in_order(conn: Connection, worker: int) -> None:
    enqueue(conn, *(NewTask(handler="h", payload={"n": n}) for n in range(5)))

    assert [task.payload_json for task in claim(conn, worker)] == [f'{{"n": {n}}}' for n in range(5)]


def test_prefetched_tasks_are_started_later(conn: Connection, worker: int) -> None:
    enqueue(conn, NewTask(handler="h", max_attempts=1), NewTask(handler="h"))

    claimed = run(conn, claims.claim(worker, [], ["h"], 2, 1))
    only, second = sorted(claimed)

    assert run(conn, tasks.get(only.id)).started_at is not None
    assert run(conn, tasks.get(second.id)).started_at is None
    assert run(conn, claims.start(worker, [second.claim])) == {}
    assert run(conn, tasks.get(second.id)).started_at is not None


def test_only_the_owner_renews_a_lease(conn: Connection, worker: int) -> None:
    enqueue(conn, NewTask(handler="h"))
    (task,) = claim(conn, worker)

    assert run(conn, claims.renew(worker, [task.claim])) == {}
    assert run(conn, claims.renew(worker, [Claim(task.id, 99)])) == {task.id: "taken"}
    assert run(conn, claims.renew(worker, [Claim(999, 1)])) == {999: "deleted"}
    assert run(conn, claims.renew(worker, [])) == {}


def test_attempt_of_a_released_task_is_refunded(conn: Connection, worker: int) -> None:
    enqueue(conn, NewTask(handler="h"))
    (task,) = claim(conn, worker)

    assert run(conn, claims.release(worker, [task.claim])) == {}

    (again,) = claim(conn, worker)
    assert again.attempt == 1
    assert again.fence > task.fence


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (lambda task: Completed(id=task.id, fence=task.fence, result_json='{"n":1}', ran=0.1), "completed"),
        (lambda task: Failed(id=task.id, fence=task.fence, error="no\0", final=True), "failed"),
        (lambda task: Failed(id=task.id, fence=task.fence, error="no", after=60), "pending"),
        (lambda task: Snoozed(id=task.id, fence=task.fence, after=60), "pending"),
        (lambda task: Snoozed(id=task.id, fence=task.fence, after=1e300), "pending"),
        (lambda task: Cancelled(id=task.id, fence=task.fence, error="pointless"), "cancelled"),
    ],
    ids=["completed", "failed", "failed once", "snoozed", "snoozed for ever", "cancelled"],
)
def test_each_outcome_is_accepted(conn: Connection, worker: int, outcome: Any, state: str) -> None:
    enqueue(conn, NewTask(handler="h"))
    (task,) = claim(conn, worker)
    report: Report = outcome(task)

    assert run(conn, claims.finish(worker, [report])) == {}
    assert run(conn, tasks.get(task.id)).state == state
    answer = run(conn, claims.finish(worker, [report]))
    assert list(answer) == [task.id]


def test_continuation_belongs_to_the_same_chain(conn: Connection, worker: int) -> None:
    enqueue(conn, NewTask(handler="h"))
    (task,) = claim(conn, worker)

    more = NextTasks(continuation=NewTask(handler="h", payload={"next": True}))
    report = Completed(id=task.id, fence=task.fence, next_tasks=more)
    assert run(conn, claims.finish(worker, [report])) == {}

    (second,) = claim(conn, worker)
    assert (second.chain_id, second.chain_index) == (task.chain_id, 1)


def test_infos_are_merged(conn: Connection, worker: int) -> None:
    enqueue(conn, NewTask(handler="h"))
    (task,) = claim(conn, worker)

    for fact in ({"a": 1}, {"b": 2}):
        assert run(conn, claims.report_info(worker, task.id, task.fence, fact)) is None
    assert run(conn, claims.report_info(worker, task.id, 99, {"c": 3})) == "taken"
    assert run(conn, tasks.get(task.id)).info == {"a": 1, "b": 2}


def test_cancelled_tasks_can_be_retried(conn: Connection) -> None:
    (task_id,) = enqueue(conn, NewTask(handler="h"))

    assert run(conn, tasks.cancel([task_id, 999])) == {task_id: "cancelled", 999: "missing"}
    assert run(conn, tasks.retry([task_id])) == {task_id: "pending"}


def test_expired_claim_is_rescued(conn: Connection, worker: int, clock: Any) -> None:
    clock.set(datetime(2030, 1, 1, tzinfo=UTC))
    enqueue(conn, NewTask(handler="h", retry=linear()), NewTask(handler="h", retry=no_retry()))
    claimed = claim(conn, worker)
    clock.advance(hours=3)

    rescued = run(conn, claims.rescue())

    assert set(rescued) == {task.id for task in claimed}
    assert set(rescued.values()) <= {TaskState.PENDING, TaskState.FAILED}


def test_seconds_until_the_next_due_task_are_returned(conn: Connection) -> None:
    assert run(conn, claims.next_due([], ["h"])) is None
    enqueue(conn, NewTask(handler="h", after=60))
    assert run(conn, claims.next_due([], ["h"])) == pytest.approx(60, abs=5)


def test_registered_worker_sends_heartbeats_and_is_listed(conn: Connection, worker: int) -> None:
    run(conn, workers.command(worker, WorkerCommand.DRAIN))
    assert run(conn, workers.heartbeat(worker, 0, Condition(cpu=0.5), idle=False)) == HeartbeatAnswer(
        is_registered=True, command=WorkerCommand.DRAIN
    )
    assert run(conn, workers.heartbeat(999, 0, Condition(), idle=False)) == HeartbeatAnswer(
        is_registered=False, command=None
    )
    run(conn, workers.mark_idle(worker, idle=True))
    (entry,) = run(conn, insight.workers())
    assert (entry.name, entry.roles, entry.idle, entry.active) == ("w1", ["r"], True, True)
    assert (entry.cpu, entry.memory, entry.command) == (0.5, None, WorkerCommand.DRAIN)
    assert run(conn, workers.deregister(worker)) == 0


def test_schedule_can_be_stored_fired_triggered_and_deleted(conn: Connection) -> None:
    schedule = Schedule(name="s", handler="h", every=60, payload={"a": 1}, priority=2, key="k")

    assert run(conn, schedules.put(schedule)) == run(conn, schedules.put(schedule))
    ((name, task_id),) = run(conn, schedules.fire())
    assert task_id is not None
    assert (name, run(conn, tasks.get(task_id)).payload) == ("s", {"a": 1})
    (stored,) = run(conn, schedules.list_())
    assert (stored.every, stored.payload, stored.last_task_id) == (60.0, {"a": 1}, task_id)
    assert run(conn, schedules.trigger("s")) == run(conn, schedules.trigger("s"))
    assert run(conn, schedules.delete("s")) is True
    assert run(conn, schedules.delete("s")) is False
    with pytest.raises(ScheduleNotFound):
        run(conn, schedules.trigger("s"))


def test_pool_can_be_inspected(conn: Connection, worker: int) -> None:
    (task_id,) = enqueue(conn, NewTask(handler="h", key="k"))

    assert [(each.role, each.number) for each in run(conn, insight.counts())] == [("r", 1)]
    assert [(each.role, each.ready_tasks) for each in run(conn, capacity.capacity())] == [("r", 1)]
    assert run(conn, insight.timeline(task_id))[0].kind == "created"
    assert [task.id for task in run(conn, finding.tasks(TaskFilter(state="ready", key="k"))).items] == [task_id]
    assert [role.name for role in run(conn, insight.roles())] == ["r"]
    assert run(conn, insight.handler_names()) == ["h"]


def test_pruning_and_partition_creation_return_numbers(conn: Connection) -> None:
    assert all(isinstance(number, int) for number in run(conn, retention.prune()).values())
    assert run(conn, retention.make_partitions(3)) >= 0


def test_missing_task_raises_task_not_found(conn: Connection) -> None:
    with pytest.raises(TaskNotFound):
        run(conn, tasks.get(1))
