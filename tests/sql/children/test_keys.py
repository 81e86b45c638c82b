"""A root keeps its key while it waits and between its steps; its children need none."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK, family, spread
from tests.sql.refusals import refused


def keyed(engine: Engine, *, gathers: bool = False) -> tuple[int, int]:
    """Let the holder of a key wait for a child while another task has the same key; return both."""
    holder = engine.enqueue(key="store")
    other = engine.enqueue(key="store")
    spread(engine, engine.claim_one(), WORK, gathers=gathers)
    return holder, other


def test_waiting_root_keeps_its_key(engine: Engine) -> None:
    holder, other = keyed(engine)
    [child] = engine.claim(10)

    assert child.key is None
    engine.complete(child)
    assert engine.state(holder) == "completed"
    assert engine.claim_one().id == other


def test_root_keeps_its_key_between_two_steps(engine: Engine) -> None:
    """No other task can take the key between the last child and the gather step."""
    holder, other = keyed(engine, gathers=True)
    engine.complete(engine.claim_one())

    [gathering] = engine.claim(10)
    assert (gathering.id, gathering.step) == (holder, 1)
    engine.complete(gathering)
    assert engine.claim_one().id == other


def test_gather_step_is_claimed_although_its_own_task_holds_the_key(engine: Engine) -> None:
    keyed(engine, gathers=True)
    engine.complete(engine.claim_one())

    assert [claim.key for claim in engine.claim(10)] == ["store"]


def test_failing_parent_releases_its_key(engine: Engine) -> None:
    holder, other = keyed(engine)
    engine.fail(engine.claim_one(), final=True)

    assert engine.state(holder) == "failed"
    assert engine.claim_one().id == other


def test_cancelling_a_waiting_root_releases_its_key(engine: Engine) -> None:
    holder, other = keyed(engine)
    engine.cancel(holder)

    assert engine.claim_one().id == other


def test_snoozed_gather_step_competes_for_its_key_again(engine: Engine) -> None:
    holder, other = keyed(engine, gathers=True)
    engine.complete(engine.claim_one())
    engine.snooze(engine.claim_one(), 60)

    assert engine.claim_one().id == other
    engine.clock.advance(seconds=60)
    assert engine.claim(10) == []
    assert engine.state(holder) == "pending"


def test_children_can_share_a_key_and_run_one_by_one(engine: Engine) -> None:
    engine.enqueue()
    children = spread(engine, engine.claim_one(), *[{**WORK, "key": "site"}] * 3)
    taken = []
    for _ in children:
        [claim] = engine.claim(10)
        taken.append(claim.id)
        engine.complete(claim)

    assert taken == children


@pytest.mark.parametrize("way", ["children", "siblings", "continuation", "outside"])
def test_child_with_the_key_of_its_root_is_rejected(engine: Engine, way: str) -> None:
    """It would wait for its root, which waits for it."""
    root = engine.enqueue(key="store")
    spread(engine, engine.claim_one(), WORK)
    claim = engine.claim_one()
    draft = {**WORK, "key": "store"}

    with refused("RC043", "would wait for itself"):
        if way == "outside":
            engine.spawn(root, draft)
        else:
            engine.complete(claim, next={way: draft if way == "continuation" else [draft]})


def test_sibling_can_have_the_key_of_the_child_that_spawns_it(engine: Engine) -> None:
    parent_id, _ = family(engine, 1, key="site")
    engine.complete(engine.claim_one(), next={"siblings": [{**WORK, "key": "site"}]})

    assert engine.claim_one().key == "site"
    assert engine.state(parent_id) == "waiting"


@pytest.mark.parametrize("way", ["spawned", "come to need"])
def test_child_needing_a_task_with_the_key_of_its_root_is_rejected(engine: Engine, way: str) -> None:
    """A circle can include a key."""
    root, rival = (engine.enqueue(key="store") for _ in range(2))
    claim = engine.claim_one()
    if way == "spawned":
        with refused("RC043", "would wait for itself"):
            engine.complete(claim, next={"children": [{**WORK, "needs": [rival]}]})
    else:
        spread(engine, claim, WORK)
        with refused("RC043", "would wait for itself"):
            engine.block(engine.claim_all()[root + 2], rival)


def test_children_with_the_keys_of_each_others_roots_are_rejected(engine: Engine) -> None:
    """The last edge of a circle is rejected."""
    engine.enqueue_many([{**WORK, "key": key} for key in "ab"])
    first, second = engine.claim(2)
    spread(engine, first, {**WORK, "key": "b"})

    with refused("RC043", "would wait for itself"):
        engine.complete(second, next={"children": [{**WORK, "key": "a"}]})


def test_child_can_have_the_key_of_its_root_if_capacity_allows(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('site', 2)")
    root = engine.enqueue(key="site")
    spread(engine, engine.claim_one(), {**WORK, "key": "site"})
    engine.complete(engine.claim_one())

    assert engine.state(root) == "completed"
