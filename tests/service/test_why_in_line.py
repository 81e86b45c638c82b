"""Why a due task does not run: its key, the workers of its role, and its place in the line."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall.service.services import Services
from rolecall.testing import Clock
from tests.service.causes import kinds, only
from tests.sql.costs import buffers
from tests.sql.engine import Engine


async def test_held_key_names_the_task_that_holds_it(services: Services, pool: Engine) -> None:
    worker_id = pool.worker(slots=5)
    holder, task_id = pool.enqueue("sums", key="store:7"), pool.enqueue("sums", key="store:7")
    assert set(pool.claim_all(worker_id)) == {holder}

    cause = await only(services, task_id)

    assert (cause.kind, cause.tasks, cause.key) == ("key_held", (holder,), "store:7")
    assert cause.sentence == f"its key 'store:7' is held by task {holder}"


async def test_paused_key_is_the_only_cause(services: Services, pool: Engine) -> None:
    pool.worker(slots=5)
    await services.key_capacities.set("k", 0)
    _first, task_id = pool.enqueue("sums", key="k"), pool.enqueue("sums", key="k")

    cause = await only(services, task_id)

    assert (cause.kind, cause.key) == ("key_paused", "k")
    assert cause.sentence == "its key 'k' is paused: its capacity is 0"


async def test_key_with_capacity_two_names_all_its_holders(services: Services, pool: Engine) -> None:
    pool.rows("insert into rolecall.keys (key, capacity) values ('api', 2)")
    worker_id = pool.worker(slots=5)
    ids = [pool.enqueue("sums", key="api") for _ in range(3)]
    held = set(pool.claim_all(worker_id))

    cause = await only(services, ids[-1])

    assert (cause.kind, set(cause.tasks), cause.number) == ("key_held", held, 2)
    assert len(held) == 2


async def test_task_behind_higher_priority_tasks_of_its_key_names_them(services: Services, pool: Engine) -> None:
    pool.worker(slots=5)
    task_id, better = pool.enqueue("sums", key="k"), pool.enqueue("other", key="k", priority=5)

    cause = await only(services, task_id)

    assert (cause.kind, cause.tasks, cause.number) == ("key_wanted", (better,), 1)
    assert await kinds(services, better) == ["claimable"]


async def test_higher_priority_tasks_block_a_key_only_without_free_capacity(services: Services, pool: Engine) -> None:
    pool.rows("insert into rolecall.keys (key, capacity) values ('api', 2)")
    pool.worker(slots=5)
    first, second, third = (pool.enqueue("sums", key="api") for _ in range(3))

    assert await kinds(services, second) == ["claimable"]
    assert await kinds(services, third) == ["key_wanted"]
    assert set(pool.claim_all()) == {first, second}


async def test_higher_priority_task_without_a_worker_blocks_nobody(services: Services, pool: Engine) -> None:
    pool.worker("sums", slots=5)
    task_id = pool.enqueue("sums", key="k")
    pool.enqueue("other", key="k", priority=5)

    assert await kinds(services, task_id) == ["claimable"]
    assert pool.claim_one("sums").id == task_id


async def test_task_of_a_key_with_manually_raised_capacity_is_shown_as_parked(services: Services, pool: Engine) -> None:
    worker_id = pool.worker(slots=5)
    task_id = [pool.enqueue("sums", key="k") for _ in range(2)][-1]
    pool.claim_all(worker_id)
    pool.rows("update rolecall.keys set capacity = 2")

    assert await kinds(services, task_id) == ["parked"]
    assert pool.claim_all(worker_id) == {}


async def test_parent_between_two_steps_keeps_its_key_and_waits_for_nobody(services: Services, pool: Engine) -> None:
    worker_id = pool.worker(slots=5)
    task_id = pool.enqueue("sums", key="k")
    claim = pool.claim_one(worker=worker_id)
    pool.complete(claim, next={"children": [{"role": "sums"}], "gathers": True})
    pool.enqueue("sums", key="k", priority=5)
    [child] = pool.children(task_id)
    pool.complete_task(child.id)

    assert pool.state(task_id) == "pending"
    assert await kinds(services, task_id) == ["claimable"]


async def test_role_limited_to_one_root_names_it(services: Services, pool: Engine) -> None:
    pool.declare({"name": "sums", "one_root": True})
    worker_id = pool.worker(slots=5)
    root, task_id = pool.enqueue("sums"), pool.enqueue("sums")
    pool.claim_all(worker_id)

    cause = await only(services, task_id)

    assert (cause.kind, cause.tasks, cause.role) == ("one_root", (root,), "sums")


async def test_role_without_live_workers_is_shown(
    services: Services, pool: Engine, clock: Clock, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    pool.worker("other")
    pool.worker("sums")
    task_id = pool.enqueue("sums")
    clock.advance(minutes=5)
    await clock.show(aconnection)

    assert await kinds(services, task_id) == ["no_worker"]


async def test_workers_without_the_handler_are_named(services: Services, pool: Engine) -> None:
    worker_id = pool.worker("sums")
    pool.rows("update rolecall.workers set handlers = '{add}'")

    cause = await only(services, pool.enqueue("sums", handler="stumble"))

    assert (cause.kind, cause.workers) == ("no_handler", (worker_id,))
    assert "lacks the handler stumble" in cause.sentence


async def test_draining_or_backing_off_workers_are_named_with_the_reason(services: Services, pool: Engine) -> None:
    draining, hot = pool.worker(slots=5), pool.worker(slots=5)
    pool.rows("select rolecall.command_worker(%s, 'drain')", draining)
    pool.enqueue("sums", priority=1)
    pool.claim_one(worker=hot)
    pool.rows('select * from rolecall.beat(%s, 1, false, \'{"backing_off": "memory is short"}\')', hot)

    cause = await only(services, pool.enqueue("sums"))

    assert (cause.kind, cause.workers) == ("not_taking", (draining, hot))
    assert f"{draining} (command: drain), {hot} (backing off: memory is short)" in cause.sentence


async def test_idle_worker_that_backs_off_still_claims_one_task(services: Services, pool: Engine) -> None:
    hot = pool.worker(slots=5)
    pool.rows('select * from rolecall.beat(%s, 0, false, \'{"backing_off": "memory is short"}\')', hot)
    first, second = pool.enqueue("sums"), pool.enqueue("sums")

    assert await kinds(services, first) == ["claimable"]
    assert await kinds(services, second) == ["in_line"]


@pytest.mark.parametrize(("before", "expected"), [(0, "no task is"), (1, "1 task is"), (3, "3 tasks are")])
async def test_busy_slots_and_earlier_tasks_are_shown(
    services: Services, pool: Engine, before: int, expected: str
) -> None:
    worker_id = pool.worker(slots=1)
    pool.enqueue("sums")
    pool.claim_one(worker=worker_id)
    # Three have a better priority, another role of the same workers, or an earlier place in the line; two come later.
    for words in ({"priority": 3}, {"role": "other", "priority": 1}, {})[:before]:
        pool.enqueue_many([{"role": "sums", **words}])
    task_id = pool.enqueue("sums")
    pool.enqueue_many([{"role": "sums"}, {"role": "other", "priority": -1}])

    cause = await only(services, task_id)

    assert (cause.kind, cause.number, cause.workers) == ("no_free_slot", before, (worker_id,))
    assert cause.sentence == f"the 1 slot of the workers that could run it is busy, and {expected} ahead of it in line"


async def test_task_with_fewer_free_slots_than_earlier_tasks_is_in_line(services: Services, pool: Engine) -> None:
    pool.worker(slots=2)
    first, second, third = (pool.enqueue("sums") for _ in range(3))

    assert await kinds(services, first) == ["claimable"]
    assert await kinds(services, second) == ["claimable"]
    cause = await only(services, third)

    assert (cause.kind, cause.number) == ("in_line", 2)
    assert "2 of the 2 slots of the workers that could run it are free, but 2 tasks are ahead of it" in cause.sentence
    assert {claim.id for claim in pool.claim(2)} == {first, second}


async def test_counting_stops_at_ten_thousand_tasks_and_its_cost_is_bounded(services: Services, pool: Engine) -> None:
    pool.worker(slots=1)
    pool.rows("""
        insert into rolecall.tasks (chain_id, created_at, scheduled_for, line_id, payload, key, parked)
        select n, rolecall.clock(), rolecall.clock() - interval '1 h', line, '{}', case when n % 2 = 0 then 'k' end, n % 2 = 0
        from rolecall.find_or_add_line('sums', 'sums', 0, false, '{}') as line, generate_series(1, 100000) as n
    """)
    task_id = pool.enqueue("sums", key="k")
    pool.rows("analyze rolecall.tasks")

    causes = (await services.tasks.why(task_id)).causes

    assert [(cause.kind.value, cause.number, cause.more) for cause in causes] == [
        ("key_wanted", 10_000, True),
        ("in_line", 10_000, True),
    ]
    assert "more than 10000 tasks are ahead of it" in causes[1].sentence
    assert buffers(pool, "select rolecall.why(%s)", task_id) < 2_000
