"""Why a task does not run: each cause in a real case, and several at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from rolecall import TaskNotFound
from rolecall.service.services import Services
from tests.service.causes import kinds, only
from tests.sql.engine import START, Engine


async def later(pool: Engine, aconnection: psycopg.AsyncConnection[Any], **step: float) -> None:
    pool.clock.advance(**step)
    await pool.clock.show(aconnection)


async def test_unknown_task_is_not_found(services: Services) -> None:
    with pytest.raises(TaskNotFound):
        await services.tasks.why(4711)


async def test_finished_task_shows_its_outcome_and_time(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums", max_attempts=1)
    pool.fail(pool.claim_one(), "no such store")

    cause = await only(services, task_id)

    assert (cause.kind, cause.since, cause.error) == ("finished", START, "no such store")
    assert cause.sentence == "it failed at 2026-01-01 00:00:00Z: no such store"
    assert cause.change == f"retry it: rolecall tasks retry {task_id}"


async def test_running_task_names_its_worker(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums")
    claim = pool.claim_one()

    cause = await only(services, task_id)

    assert (cause.kind, cause.workers, cause.since) == ("running", (claim.worker_id,), START)
    assert cause.until == START + timedelta(hours=1)


async def test_requested_cancellation_is_shown(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums")
    pool.claim_one()
    pool.cancel(task_id)

    assert "its cancellation was requested at" in (await only(services, task_id)).sentence


async def test_prefetched_task_is_claimed_and_not_started(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums")
    [claim] = pool.claim(1, start=0)

    cause = await only(services, task_id)

    assert (cause.kind, cause.workers) == ("claimed", (claim.worker_id,))


async def test_stale_task_shows_the_time_of_its_rescue(
    services: Services, pool: Engine, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    task_id = pool.enqueue("sums")
    claim = pool.claim_one()
    await later(pool, aconnection, seconds=61)

    cause = await only(services, task_id)

    assert (cause.kind, cause.workers) == ("stale", (claim.worker_id,))
    assert cause.until == START + timedelta(seconds=60)
    assert pool.rescue() == {task_id: "pending"}


async def test_rescue_time_is_later_after_a_server_restart(
    services: Services, pool: Engine, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    task_id = pool.enqueue("sums")
    pool.claim_one()
    await later(pool, aconnection, seconds=61)
    pool.rows("update rolecall.server_epoch set seen_at = %s", pool.clock.now())

    assert (await only(services, task_id)).until == START + timedelta(seconds=121)
    assert pool.rescue() == {}


async def test_stale_task_running_in_an_sql_worker_is_rescued_after_its_deadline(
    services: Services, pool: Engine, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    task_id = pool.enqueue("sums")
    worker_id = pool.value("select rolecall.open_drain(null)")
    pool.claim_one(worker=worker_id)
    await later(pool, aconnection, seconds=61)
    name = f"rolecall:worker:{worker_id}:task:{task_id}"

    with psycopg.connect(pool.database, application_name=name):
        assert (await only(services, task_id)).until == START + timedelta(hours=1)
        assert pool.rescue() == {}


async def test_parent_waits_for_its_children(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums")
    worker_id = pool.worker()
    claim = pool.claim_one(worker=worker_id)
    pool.complete(claim, next={"children": [{"role": "sums"}] * 12})
    children = [child.id for child in pool.children(task_id)]

    cause = await only(services, task_id)

    assert (cause.kind, cause.number, cause.tasks) == ("waiting", 12, tuple(children[:10]))
    assert "12 open children" in cause.sentence


async def test_blocked_task_names_its_needs_and_the_open_task_of_a_chain(services: Services, pool: Engine) -> None:
    first, single = pool.enqueue("sums", priority=1), pool.enqueue("sums")
    needs = [{"chain": first}, {"task": single}]
    task_id = pool.enqueue("sums", needs=needs)
    claim = pool.claim_one()
    assert claim.id == first
    pool.complete(claim, next={"continuation": {"role": "sums"}})
    [link] = pool.rows("select id from rolecall.tasks where chain_id = %s and chain_index > 0", first)

    cause = await only(services, task_id)

    assert (cause.kind, cause.tasks, cause.number) == ("blocked", (*link, single), 2)
    assert f"{link[0]} of the chain {first}" in cause.sentence


async def test_scheduled_task_shows_its_due_time(services: Services, pool: Engine) -> None:
    pool.worker()

    cause = await only(services, pool.enqueue("sums", after=60))

    assert (cause.kind, cause.until) == ("scheduled", START + timedelta(seconds=60))


async def test_later_causes_of_a_blocked_task_are_shown_too(services: Services, pool: Engine) -> None:
    worker_id = pool.worker(slots=5)
    holder = pool.enqueue("sums", key="k")
    pool.claim_one(worker=worker_id)
    task_id = pool.enqueue("sums", key="k", needs=[holder], after=60)

    causes = (await services.tasks.why(task_id)).causes

    assert [cause.kind.value for cause in causes] == ["blocked", "scheduled", "key_held"]
    assert causes[1].change == "it becomes due"


async def test_retrying_task_shows_its_last_error(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums", retry={"kind": "linear", "step": 30, "cap": 300})
    pool.fail(pool.claim_one(), "boom {braces}\nand a traceback")

    cause = await only(services, task_id)

    assert (cause.kind, cause.until) == ("retrying", START + timedelta(seconds=30))
    assert cause.sentence.startswith("attempt 1 failed: boom {braces}; the next")
    assert cause.error == "boom {braces}\nand a traceback"


async def test_snoozed_task_is_not_shown_as_failed(services: Services, pool: Engine) -> None:
    task_id = pool.enqueue("sums")
    pool.snooze(pool.claim_one(), 90)

    cause = await only(services, task_id)

    assert (cause.kind, cause.until, cause.error) == ("snoozed", START + timedelta(seconds=90), None)


async def test_paused_role_shows_start_end_and_actor(services: Services, pool: Engine) -> None:
    pool.worker()
    task_id = pool.enqueue("sums")
    pool.rows("select rolecall.pause_role('sums', 600, 'ada')")

    cause = await only(services, task_id)

    assert (cause.kind, cause.role, cause.by) == ("role_paused", "sums", "ada")
    assert (cause.since, cause.until) == (START, START + timedelta(seconds=600))


async def test_expired_pause_is_ignored_before_it_is_cleared(
    services: Services, pool: Engine, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    pool.worker()
    task_id = pool.enqueue("sums")
    pool.rows("select rolecall.pause_role('sums', 10)")
    await later(pool, aconnection, seconds=10)

    assert await kinds(services, task_id) == ["claimable"]
    assert pool.claim_one().id == task_id


async def test_all_causes_are_shown_in_order_of_importance(services: Services, pool: Engine) -> None:
    holder = pool.enqueue("sums", key="store:7")
    pool.claim_one("sums")
    pool.rows("select rolecall.pause_role('other')")
    task_id = pool.enqueue("other", key="store:7", after=60)
    pool.rows("update rolecall.workers set stopped_at = rolecall.clock()")

    causes = (await services.tasks.why(task_id)).causes

    assert [cause.kind.value for cause in causes] == ["scheduled", "key_held", "role_paused", "no_worker"]
    assert causes[1].tasks == (holder,)


async def test_pending_task_shows_its_expiry(services: Services, pool: Engine) -> None:
    pool.worker()

    causes = (await services.tasks.why(pool.enqueue("sums", after=60, expires=30))).causes

    assert [cause.kind.value for cause in causes] == ["scheduled", "expires"]
    assert causes[1].until == START + timedelta(seconds=90)


async def test_expired_task_shows_only_its_expiry(
    services: Services, pool: Engine, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    task_id = pool.enqueue("sums", expires=30)
    await later(pool, aconnection, seconds=30)

    cause = await only(services, task_id)

    assert (cause.kind, cause.until) == ("expired", START + timedelta(seconds=30))
    assert pool.expire() == {task_id: "cancelled"}
    assert (await only(services, task_id)).sentence.endswith("it expired at 2026-01-01 00:00:30Z, before it began")


async def test_task_started_before_its_expiry_runs_and_waits_for_its_children(
    services: Services, pool: Engine, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    task_id = pool.enqueue("sums", expires=30)
    claim = pool.claim_one()
    await later(pool, aconnection, seconds=40)

    assert await kinds(services, task_id) == ["running"]
    pool.complete(claim, next={"children": [{"role": "sums"}]})
    assert await kinds(services, task_id) == ["waiting"]
