"""CALL rolecall.process_tasks runs the tasks of SQL handlers, including trees."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine
from tests.sql.procedures import COUNT, NEVER, counted, declare, handler, procedure, process, run, spawning, table


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """The engine with a table and a SQL handler that inserts into it."""
    table(engine)
    handler(engine, COUNT)
    return engine


def enqueue(engine: Engine, *numbers: int, **words: object) -> list[int]:
    ids, _ = engine.enqueue_many([{"handler": "count", "payload": {"n": n}, **words} for n in numbers])
    return ids


def states(engine: Engine, *ids: int) -> list[str]:
    return [engine.task(task_id).state for task_id in ids]


def test_process_tasks_runs_until_no_work_is_left(shop: Engine) -> None:
    ids = enqueue(shop, 1, 2, 3)

    process(shop)

    assert counted(shop) == [1, 2, 3]
    assert states(shop, *ids) == ["completed"] * 3


def test_process_tasks_can_be_limited_to_one_role(shop: Engine) -> None:
    shop.declare({"name": "other"})
    enqueue(shop, 1)
    enqueue(shop, 2, role="other")

    process(shop, role="other")

    assert counted(shop) == [2]


def test_queue_is_a_second_name_of_the_role(shop: Engine) -> None:
    shop.declare({"name": "other"})
    enqueue(shop, 1)
    enqueue(shop, 2, role="other")

    process(shop, queue="other")

    assert counted(shop) == [2]


def test_role_and_queue_that_differ_are_rejected(shop: Engine) -> None:
    with pytest.raises(psycopg.Error, match="give one of them"):
        process(shop, role="count", queue="other")


def test_process_tasks_stops_after_the_given_number_of_tasks(shop: Engine) -> None:
    enqueue(shop, 1, 2, 3)

    process(shop, max_tasks=2)

    assert counted(shop) == [1, 2]


def test_no_task_starts_after_the_maximum_run_time(shop: Engine) -> None:
    handler(shop, f"{COUNT} perform pg_sleep(0.05);")
    enqueue(shop, *range(10))

    process(shop, max_runtime="0.2 s")
    assert len(counted(shop)) <= 5

    process(shop, max_runtime="1 h")
    assert counted(shop) == list(range(10))


def test_higher_priority_tasks_run_first_then_older_ones(shop: Engine) -> None:
    shop.rows("alter table shop.counted add at int generated always as identity")
    enqueue(shop, 1, 2)
    enqueue(shop, 3, priority=5)

    process(shop)

    assert [n for (n,) in shop.rows("select n from shop.counted order by at")] == [3, 1, 2]


def test_task_due_later_is_not_run(shop: Engine) -> None:
    (later,) = enqueue(shop, 1, after=60)

    process(shop)

    assert states(shop, later) == ["pending"]


def test_failing_task_does_not_stop_the_drain(shop: Engine) -> None:
    handler(shop, "perform 1 / (payload ->> 'n')::int; " + COUNT, retry=NEVER)
    ids = enqueue(shop, 0, 1)

    process(shop)

    assert states(shop, *ids) == ["failed", "completed"]


def test_tasks_of_other_handlers_are_not_run(shop: Engine) -> None:
    task_id = shop.enqueue()

    process(shop)

    assert states(shop, task_id) == ["pending"]


def test_tree_and_its_parents_are_drained(shop: Engine) -> None:
    procedure(shop, "branch", spawning([{"handler": "count", "payload": {"n": n}} for n in (1, 2)]))
    procedure(shop, "root", spawning([{"handler": "branch"}, {"handler": "branch"}]))
    declare(shop, "branch")
    declare(shop, "root")
    root = shop.enqueue(handler="root")

    process(shop)

    assert counted(shop) == [1, 1, 2, 2]
    assert [task.state for task in shop.tasks()] == ["completed"] * 7
    assert shop.task(root).state == "completed"


def test_serial_children_run_one_after_another(shop: Engine) -> None:
    """This applies also if an earlier child only groups others."""
    shop.rows("alter table shop.counted add at int generated always as identity")
    procedure(shop, "phase", spawning([{"handler": "count", "payload": {"n": n}} for n in (1, 2)]))
    procedure(shop, "root", spawning([{"handler": "phase"}, {"handler": "count", "payload": {"n": 3}}], serial=True))
    declare(shop, "phase")
    declare(shop, "root")
    root = shop.enqueue(handler="root")

    process(shop)

    assert [n for (n,) in shop.rows("select n from shop.counted order by at")] == [1, 2, 3]
    assert shop.task(root).state == "completed"


def test_infos_of_children_are_summed(shop: Engine) -> None:
    handler(shop, "info := jsonb_build_object('rows', (payload ->> 'n')::int);")
    procedure(shop, "root", spawning([{"handler": "count", "payload": {"n": n}} for n in (1, 2, 3)]))
    declare(shop, "root")
    root = shop.enqueue(handler="root")

    process(shop)

    assert shop.task(root).info == {"rows": 6}


def test_failed_child_fails_its_parent_after_all_have_finished(shop: Engine) -> None:
    handler(shop, "perform 1 / (payload ->> 'n')::int; " + COUNT, retry=NEVER)
    procedure(shop, "root", spawning([{"handler": "count", "payload": {"n": n}} for n in (0, 1)]))
    declare(shop, "root")
    root = shop.enqueue(handler="root")

    process(shop)

    assert (shop.task(root).state, counted(shop)) == ("failed", [1])


def test_failing_task_fails_its_spawned_children(shop: Engine) -> None:
    handler(shop, "perform 1 / 0;", name="root", retry=NEVER)
    root = shop.enqueue(handler="root")
    claim = shop.claim_one()
    drafts = Jsonb([{"handler": "count", "payload": {"n": 1}}])
    [(children,)] = shop.rows("select rolecall.spawn(%s, %s)", root, drafts)

    run(shop, claim)
    process(shop)

    assert states(shop, root, *children) == ["failed", "failed"]
    assert shop.task(children[0]).error == "Parent task failed"
    assert counted(shop) == []


def test_one_root_of_a_role_runs_at_a_time(shop: Engine) -> None:
    """Children have no key and run concurrently."""
    shop.declare({"name": "work", "one_root": True})
    procedure(shop, "root", spawning([{"handler": "count", "payload": {"n": n}} for n in (1, 2)]))
    declare(shop, "root")
    first, second = (shop.enqueue(handler="root") for _ in range(2))

    process(shop, max_tasks=1)

    assert states(shop, first, second) == ["waiting", "pending"]
    assert len(shop.claim(5)) == 2


def test_handler_declared_during_the_drain_is_served_by_the_next_claim(shop: Engine) -> None:
    procedure(shop, "late", COUNT)
    procedure(shop, "early", "perform rolecall.declare_procedure('late', 'shop.late', 'work');")
    declare(shop, "early")
    shop.enqueue(handler="early")
    shop.enqueue(handler="late", payload={"n": 9})

    process(shop)

    assert counted(shop) == [9]


def test_unknown_role_is_rejected(shop: Engine) -> None:
    with pytest.raises(psycopg.Error, match="unknown role 'wrok'") as refusal:
        process(shop, role="wrok")

    assert refusal.value.sqlstate == "RC031"


def test_sql_worker_is_registered_while_it_runs(shop: Engine) -> None:
    handler(shop, "info := (select to_jsonb(worker) from rolecall.workers as worker where worker.stopped_at is null);")
    (task_id,) = enqueue(shop, 1)

    process(shop, role="work")

    info = shop.task(task_id).info or {}
    assert (info["roles"], info["handlers"], info["host"]) == (["work"], ["count"], None)
    assert shop.value("select count(*) from rolecall.workers where stopped_at is null") == 0
