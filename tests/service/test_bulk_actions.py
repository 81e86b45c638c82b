"""Bulk actions: previews, batches, rates, withdrawals, and what they record."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rolecall.db.connect import connect
from rolecall.model.audit import AuditFilter
from rolecall.model.errors import BulkActionNotFound, ConfigError, NoFilter
from rolecall.model.operator.bulk import BulkCount
from rolecall.model.operator.insight import TaskFilter
from rolecall.service.services import Services
from tests.sql.engine import START, Engine

SUMS = TaskFilter(role="sums")


def work_off(pool: Engine, limit: int = 1_000) -> list[bool]:
    """Work off all batches that are due. Return for each whether more were due."""
    batches: list[bool] = []
    while rows := pool.rows("select is_more_due from rolecall.work_off_bulk_action(%s::int)", limit):
        batches.append(rows[0][0])
        if not rows[0][0]:
            break
    return batches


def failed_tasks(pool: Engine, number: int) -> list[int]:
    ids = []
    for _ in range(number):
        ids.append(pool.enqueue("sums"))
        pool.fail(pool.claim_one(), "E: boom", final=True)
    pool.clock.advance(seconds=1)
    return ids


async def test_preview_counts_only_tasks_that_the_action_can_change(services: Services, pool: Engine) -> None:
    failed_tasks(pool, 2)
    for role in ("sums", "sums", "other"):
        pool.enqueue(role)
    error = pool.value("select distinct error_group from rolecall.finished_tasks")

    retry = await services.bulk_actions.preview("retry", SUMS)
    cancel = await services.bulk_actions.preview("cancel", SUMS)
    delete = await services.bulk_actions.preview("delete", TaskFilter(role="sums,other"))

    assert retry.groups == [BulkCount("sums", "sums", error, 2)]
    assert cancel.groups == [BulkCount("sums", "sums", None, 2)]
    assert (delete.number, delete.is_complete, len(delete.groups)) == (5, True, 3)


async def test_action_waits_until_it_can_no_longer_be_withdrawn(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums")
    action = await services.bulk_actions.start("cancel", SUMS)

    assert (action.state, action.total, action.starts_at - action.created_at) == ("waiting", 1, timedelta(seconds=10))
    assert work_off(pool) == []
    pool.clock.advance(seconds=10)
    work_off(pool)
    action = await services.bulk_actions.get(action.id)
    assert (action.state, action.done, action.outcomes, action.changed) == ("completed", 1, {"cancelled": 1}, 1)
    assert pool.state(task_id) == "cancelled"


async def test_withdrawn_action_changes_nothing(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums")
    action = await services.bulk_actions.start("delete", SUMS)

    withdrawn = await services.bulk_actions.stop(action.id)
    pool.clock.advance(seconds=20)

    assert (withdrawn.state, withdrawn.stopped_by) == ("withdrawn", "ada")
    assert work_off(pool) == []
    assert pool.state(task_id) == "pending"


async def test_action_is_worked_off_in_batches_and_can_be_stopped_between_them(
    services: Services, pool: Engine
) -> None:
    ids = [pool.enqueue("sums") for _ in range(5)]
    action = await services.bulk_actions.start("cancel", SUMS, delay=0)

    pool.rows("select rolecall.work_off_bulk_action(2)")
    stopped = await services.bulk_actions.stop(action.id)
    again = await services.bulk_actions.stop(action.id)

    assert (stopped.state, stopped.done, again) == ("stopped", 2, stopped)
    assert [pool.state(task_id) for task_id in ids] == ["pending"] * 3 + ["cancelled"] * 2
    assert work_off(pool) == []


async def test_tasks_that_are_newer_or_fail_later_do_not_belong_to_the_action(services: Services, pool: Engine) -> None:
    [failed] = failed_tasks(pool, 1)
    later = pool.enqueue("sums")
    retry = await services.bulk_actions.start("retry", SUMS)
    cancel = await services.bulk_actions.start("cancel", TaskFilter(role="other"))
    pool.clock.advance(seconds=1)
    new = pool.enqueue("other")
    pool.fail(pool.claim_one("sums"), "E: boom", final=True)
    pool.clock.advance(seconds=10)

    work_off(pool)

    assert [pool.state(task_id) for task_id in (failed, later, new)] == ["pending", "failed", "pending"]
    assert [(await services.bulk_actions.get(each.id)).done for each in (retry, cancel)] == [1, 0]


async def test_paced_retry_makes_tasks_due_by_its_rate_and_returns_no_more_than_those_of_the_next_seconds(
    services: Services, pool: Engine
) -> None:
    ids = failed_tasks(pool, 20)
    start = START + timedelta(seconds=1)
    action = await services.bulk_actions.start("retry", SUMS, rate=2, delay=0)

    work_off(pool)
    first = (await services.bulk_actions.get(action.id)).done
    for _ in range(20):
        pool.clock.advance(seconds=1)
        work_off(pool)

    assert first == 10
    assert (await services.bulk_actions.get(action.id)).state == "completed"
    delays = sorted((pool.task(task_id).scheduled_for - start).total_seconds() for task_id in ids)
    assert delays == [turn / 2 for turn in range(20)]


async def test_actions_take_turns(services: Services, pool: Engine) -> None:
    for role in ("sums", "other"):
        for _ in range(2):
            pool.enqueue(role)
    first = await services.bulk_actions.start("cancel", SUMS, delay=0)
    second = await services.bulk_actions.start("cancel", TaskFilter(role="other"), delay=0)
    for _ in range(2):
        pool.clock.advance(seconds=1)
        pool.rows("select rolecall.work_off_bulk_action(1)")

    assert [(await services.bulk_actions.get(each.id)).done for each in (first, second)] == [1, 1]


async def test_action_whose_batch_fails_does_not_delay_the_others(
    services: Services, pool: Engine, database: str
) -> None:
    held, free = pool.enqueue("sums"), pool.enqueue("other")
    first = await services.bulk_actions.start("cancel", SUMS, delay=0)
    await services.bulk_actions.start("cancel", TaskFilter(role="other"), delay=0)
    with connect(database, "test") as other, other.transaction():
        other.execute("select from rolecall.tasks where id = %s for update", (held,))
        [(is_more_due, problem)] = pool.rows("select * from rolecall.work_off_bulk_action()")
        work_off(pool)
    states = [pool.task(held).state, pool.task(free).state]
    pool.clock.advance(seconds=10)
    work_off(pool)

    assert is_more_due
    assert problem.startswith(f"bulk action {first.id}: ")
    assert states == ["pending", "cancelled"]
    assert pool.task(held).state == "cancelled"


async def test_timeline_names_the_person_and_the_number_of_tasks(services: Services, pool: Engine) -> None:
    ids = [pool.enqueue("sums") for _ in range(3)]
    action = await services.bulk_actions.start("cancel", SUMS, delay=0)
    work_off(pool)
    await services.tasks.retry(ids[:1])

    timeline = (await services.tasks.show(ids[0])).timeline

    acts = [(entry.kind, entry.actor, entry.bulk_action_id, entry.bulk_tasks) for entry in timeline if entry.actor]
    assert acts == [("cancel", "ada", action.id, 3), ("retry", "ada", None, None)]


async def test_single_actions_are_recorded_with_their_person(services: Services, pool: Engine) -> None:
    done, failed, due = pool.enqueue("sums"), pool.enqueue("sums"), pool.enqueue("sums", delay=60)
    await services.tasks.complete(done)
    await services.tasks.fail(failed, "E")
    await services.tasks.trigger([due])

    async def acts(task_id: int) -> list[tuple[str, str | None]]:
        timeline = (await services.tasks.show(task_id)).timeline
        return [(entry.kind, entry.actor) for entry in timeline if entry.actor]

    assert [await acts(task_id) for task_id in (done, failed, due)] == [
        [("complete", "ada")],
        [("fail", "ada")],
        [("trigger", "ada")],
    ]


async def test_one_entry_of_the_audit_log_describes_an_action(services: Services, pool: Engine) -> None:
    pool.enqueue("sums")
    action = await services.bulk_actions.start("cancel", SUMS, delay=0)
    work_off(pool)

    [entry] = await services.audit.list(AuditFilter())

    assert (entry.action, entry.detail, entry.outcome) == (
        "bulk.cancel",
        {"which": {"role": "sums"}, "total": 1},
        action.id,
    )


async def test_actions_are_listed_newest_first_page_by_page(services: Services, pool: Engine) -> None:
    ids = [(await services.bulk_actions.start("cancel", SUMS)).id for _ in range(3)]

    first = await services.bulk_actions.list(limit=2)
    rest = await services.bulk_actions.list(first.next_cursor, limit=2)

    assert [action.id for action in (*first.items, *rest.items)] == ids[::-1]
    assert rest.next_cursor is None


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"action": "retry", "rate": 0}, "tasks a second"),
        ({"action": "cancel", "rate": 1}, "only retries"),
        ({"action": "cancel", "delay": -1}, "delay"),
    ],
)
async def test_invalid_argument_is_rejected(services: Services, words: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        await services.bulk_actions.start(which=SUMS, **words)


async def test_action_without_a_filter_is_rejected(services: Services) -> None:
    with pytest.raises(NoFilter):
        await services.bulk_actions.start("delete", TaskFilter(limit=1))


async def test_unknown_action_is_rejected(services: Services) -> None:
    for call in (services.bulk_actions.get(4711), services.bulk_actions.stop(4711)):
        with pytest.raises(BulkActionNotFound, match="4711"):
            await call
