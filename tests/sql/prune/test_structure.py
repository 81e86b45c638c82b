"""Pruning keeps tasks of open chains and trees, and tasks that open ones need, however old they are."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.engine import START, Claim, Engine

DAY = 86400
KEEP = 5
AGE = timedelta(days=KEEP + 3)
LATER = {"role": "work", "after": 365 * DAY}


@pytest.fixture(params=["rows", "partitions"])
def engine(engine: Engine, request: pytest.FixtureRequest) -> Engine:
    """Runs both ways of pruning: row by row in the default partition, and whole days."""
    engine.declare({"name": "work", "keep_completed": KEEP * DAY, "keep_failed": KEEP * DAY})
    if request.param == "partitions":
        engine.rows("select rolecall.make_partitions(20)")
    return engine


def known(engine: Engine) -> list[int]:
    return [task.id for task in engine.tasks()]


def forget(engine: Engine) -> None:
    """Prune until nothing more is deleted."""
    while any(engine.prune().values()):
        pass


def age(engine: Engine, by: timedelta = AGE) -> None:
    engine.clock.set(engine.clock.now() + by)


def parent_with(engine: Engine, *children: dict[str, object]) -> Claim:
    engine.enqueue()
    parent = engine.claim_one()
    engine.complete(parent, next={"children": list(children)})
    return parent


def test_finished_tasks_of_an_open_chain_are_kept(engine: Engine) -> None:
    """This includes the first task and those in between."""
    chain = engine.enqueue()
    for following in ({"role": "work"}, {"role": "work"}, LATER):
        engine.complete(engine.claim_one(), result=1, next={"continuation": following})
    age(engine)
    forget(engine)

    assert len(known(engine)) == 4
    assert engine.value("select length from rolecall.chains where id = %s", chain) == 4


def test_children_with_results_that_a_parent_will_gather_are_kept(engine: Engine) -> None:
    parent = parent_with(engine, {"role": "work"}, LATER)
    child = engine.claim_one()
    engine.complete(child, result="gather me")
    age(engine)
    forget(engine)

    assert engine.task(child.id).result == "gather me"
    assert engine.task(parent.id).state == "waiting"


def test_tree_is_kept_down_to_its_leaves_while_its_root_waits(engine: Engine) -> None:
    root = parent_with(engine, {"role": "work"}, LATER)
    middle = engine.claim_one()
    engine.complete(middle, next={"children": [{"role": "work"}]})
    leaf = engine.claim_one()
    engine.complete(leaf, next={"continuation": {"role": "work"}})
    last = engine.claim_one()
    engine.complete(last)
    assert engine.task(middle.id).state == "completed"
    age(engine)
    forget(engine)

    assert {root.id, middle.id, leaf.id, last.id} <= set(known(engine))


def test_finished_need_of_an_open_task_is_kept(engine: Engine) -> None:
    engine.enqueue()
    needed = engine.claim_one()
    engine.complete(needed, result="read me")
    engine.enqueue(needs=[needed.id], after=365 * DAY)
    age(engine)
    forget(engine)

    assert engine.task(needed.id).result == "read me"


def test_chain_needed_by_an_open_task_is_kept_entirely(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": {"role": "work"}})
    engine.complete(engine.claim_one(), result="read me")
    engine.enqueue(needs=[{"chain": chain}], after=365 * DAY)
    age(engine)
    forget(engine)

    assert engine.rows("select length, result from rolecall.chains where id = %s", chain) == [(2, "read me")]


def test_ancestors_of_a_retried_child_are_kept(engine: Engine) -> None:
    root = parent_with(engine, {"role": "work", "on_failure": "ignore"})
    child = engine.claim_one()
    engine.fail(child, final=True)
    assert engine.task(root.id).state == "completed"
    age(engine, timedelta(days=KEEP - 1))
    engine.retry(child.id)
    engine.snooze(engine.claim_one(), 365 * DAY)
    age(engine)
    forget(engine)

    assert known(engine) == [root.id, child.id]


def test_finished_tree_is_deleted_entirely_after_its_roots_retention(engine: Engine) -> None:
    root = parent_with(engine, {"role": "work"}, {"role": "work"})
    early = engine.claim_one()
    engine.complete(early)
    late = engine.claim_one()
    age(engine)
    engine.rows("update rolecall.tasks set deadline_at = 'infinity' where id = %s", late.id)
    engine.complete(late)
    forget(engine)
    assert known(engine) == [root.id, early.id, late.id]

    age(engine)
    forget(engine)

    assert known(engine) == []


def test_finished_chain_is_deleted_entirely_after_its_last_tasks_retention(engine: Engine) -> None:
    first = engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": {"role": "work"}})
    age(engine)
    second = engine.claim_one()
    engine.complete(second)
    forget(engine)
    assert known(engine) == [first, second.id]

    age(engine)
    forget(engine)

    assert known(engine) == []


def test_parent_is_kept_as_long_as_its_children(engine: Engine) -> None:
    """No child remains without its tree."""
    engine.declare({"name": "work", "keep_completed": KEEP * DAY, "keep_failed": 3 * KEEP * DAY})
    root = parent_with(engine, {"role": "work", "on_failure": "ignore"})
    child = engine.claim_one()
    engine.fail(child, final=True)
    age(engine)
    forget(engine)
    assert known(engine) == [root.id, child.id]

    age(engine, timedelta(days=3 * KEEP))
    forget(engine)

    assert known(engine) == []


def test_unreferenced_task_is_pruned_next_to_kept_ones(engine: Engine) -> None:
    engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": LATER})
    engine.enqueue()
    plain = engine.claim_one()
    engine.complete(plain)
    age(engine)
    forget(engine)

    assert plain.id not in known(engine)
    assert len(known(engine)) == 2


def test_needs_of_a_deleted_task_are_deleted(engine: Engine) -> None:
    needed = engine.enqueue(after=365 * DAY)
    done, open_task = engine.enqueue(needs=[needed]), engine.enqueue(needs=[needed])
    engine.complete_task(done)
    age(engine)
    forget(engine)

    assert engine.rows("select task_id from rolecall.needs") == [(open_task,)]


def test_day_with_many_kept_tasks_is_emptied_row_by_row(engine: Engine) -> None:
    """Moving them would lock the table for a long time."""
    engine.rows("select rolecall.make_partitions(20)")
    [plain, *ids], _ = engine.enqueue_many([{"role": "work"}] * 10_003)
    parent = engine.enqueue()
    worker = engine.worker()
    claims = engine.claim(len(ids) + 2, worker=worker)
    engine.finish(worker, *({"id": c.id, "fence": c.fence, "outcome": "completed"} for c in claims if c.id != parent))
    engine.rows(
        "update rolecall.finished_tasks set parent_id = %s, parent_fence = 1, depth = 1 where id = any(%s)", parent, ids
    )
    age(engine)
    engine.prune()

    assert engine.value("select to_regclass('rolecall.finished_tasks_20260101') is not null")
    assert engine.value("select count(*) from rolecall.finished_tasks") == len(ids)
    assert plain not in known(engine)


def test_kept_tasks_of_a_dropped_day_move_to_the_default_partition(engine: Engine) -> None:
    engine.rows("select rolecall.make_partitions(20)")
    engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": LATER})
    engine.clock.set(START + AGE)
    engine.prune()

    assert engine.value("select to_regclass('rolecall.finished_tasks_20260101')") is None
    assert engine.value("select count(*) from rolecall.finished_tasks_default") == 1
    assert engine.prune()["task_partitions"] == 0
