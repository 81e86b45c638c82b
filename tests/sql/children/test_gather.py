"""The gather step of a parent runs after its last child has finished."""

from __future__ import annotations

from tests.sql.engine import LEASE, Claim, Engine
from tests.sql.families import WORK, family, finish_off, parent_of, spread


def gathering(engine: Engine) -> Claim:
    """Return a parent's claim of its gather step after two children."""
    parent_of(engine, WORK, WORK, gathers=True)
    for claim in engine.claim_all().values():
        engine.complete(claim)
    return engine.claim_one()


def test_the_last_child_makes_its_parent_pending_for_its_next_step(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, WORK, gathers=True)
    for claim in engine.claim_all().values():
        assert engine.state(parent_id) == "waiting"
        engine.complete(claim)

    assert (engine.state(parent_id), engine.task(parent_id).step) == ("pending", 1)


def test_attempts_are_counted_from_zero_in_every_step(engine: Engine) -> None:
    engine.enqueue()
    engine.fail(engine.claim_one(), after=0)
    claim = engine.claim_one()
    spread(engine, claim, WORK, gathers=True)
    engine.complete(engine.claim_one())
    gather = engine.claim_one()

    assert (claim.attempt, gather.attempt) == (2, 1)
    assert gather.fence > claim.fence


def test_the_gathering_ends_the_parent(engine: Engine) -> None:
    claim = gathering(engine)
    engine.complete(claim, result={"sum": 2})

    assert (engine.state(claim.id), engine.task(claim.id).result) == ("completed", {"sum": 2})


def test_a_gathering_that_returns_nothing_leaves_what_the_first_step_returned(engine: Engine) -> None:
    engine.enqueue()
    spread(engine, engine.claim_one(), WORK, gathers=True, result="first")
    engine.complete(engine.claim_one())
    claim = engine.claim_one()
    engine.complete(claim)

    assert engine.task(claim.id).result == "first"


def test_a_parent_that_gathers_does_so_without_children_too(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, gathers=True)

    assert (engine.claim_one().step, engine.state(parent_id)) == (1, "running")


def test_a_gathering_may_spread_again(engine: Engine) -> None:
    claim = gathering(engine)
    spread(engine, claim, WORK, gathers=True)
    engine.complete(engine.claim_one())

    assert engine.claim_one().step == 2


def test_a_parent_goes_on_however_often_it_has(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, gathers=True)
    engine.rows("update rolecall.tasks set step_number = 32767 where id = %s", parent_id)

    engine.complete(engine.claim_one())

    assert (engine.claim_one().step, engine.task(parent_id).step) == (32768, 32768)


def test_children_of_the_next_step_may_be_of_the_other_kind(engine: Engine) -> None:
    """Only children that are open at the same time must be of one kind."""
    parent_of(engine, WORK, serial=True, gathers=True)
    engine.complete(engine.claim_one())
    children = spread(engine, engine.claim_one(), WORK, WORK)

    assert sorted(engine.claim_all()) == children


def test_a_failed_child_fails_its_parent_before_it_gathers(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, gathers=True)
    engine.fail(engine.claim_one(), final=True)

    assert engine.state(parent_id) == "failed"


def test_a_gathering_sees_failures_that_it_does_not_share(engine: Engine) -> None:
    parent_id, children = parent_of(engine, {**WORK, "on_failure": "ignore"}, WORK, gathers=True)
    claims = engine.claim_all()
    engine.fail(claims[children[0]], final=True)
    engine.complete(claims[children[1]])

    assert engine.state(parent_id) == "pending"
    assert engine.rows("select state::text from rolecall.children_of(%s)", parent_id) == [("failed",), ("completed",)]


def test_a_gathering_sees_only_the_children_of_the_claim_that_spawned_them(engine: Engine) -> None:
    """Children of an earlier attempt do not count."""
    engine.enqueue()
    first = engine.claim_one()
    [old] = engine.spawn(first.id, WORK)
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()
    engine.clock.advance(seconds=60)
    claims = engine.claim_all()
    new = spread(engine, claims[first.id], WORK, gathers=True)
    engine.fail(claims[old], final=True)
    [claim] = engine.claim_all().values()
    engine.complete(claim)

    assert engine.state(first.id) == "pending"
    assert [row[0] for row in engine.rows("select id from rolecall.children_of(%s)", first.id)] == new


def test_a_snoozed_gathering_comes_again(engine: Engine) -> None:
    claim = gathering(engine)
    engine.snooze(claim, 60)
    engine.clock.advance(seconds=60)
    again = engine.claim_one()

    assert (again.id, again.step, again.attempt) == (claim.id, 1, 1)


def test_a_released_gathering_comes_again(engine: Engine) -> None:
    claim = gathering(engine)
    engine.release(claim)
    again = engine.claim_one()

    assert (again.id, again.step, again.attempt) == (claim.id, 1, 1)


def test_a_crashed_gathering_comes_again(engine: Engine) -> None:
    claim = gathering(engine)
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()
    engine.clock.advance(seconds=60)
    again = engine.claim_one()

    assert (again.id, again.step, again.attempt) == (claim.id, 1, 2)


def test_a_failing_gathering_is_tried_again_as_often_as_any_step(engine: Engine) -> None:
    claim = gathering(engine)
    for _ in range(3):
        engine.fail(claim, after=0)
        claim = next(iter(engine.claim(1)), claim)

    assert engine.state(claim.id) == "failed"
    assert claim.attempt == 3


def test_many_parents_gather_each_its_own(engine: Engine) -> None:
    parents = [parent_of(engine, WORK, WORK, gathers=True)[0] for _ in range(1)]
    engine.enqueue_many([WORK] * 3)
    for claim in engine.claim_all().values():
        if claim.parent_id is None:
            spread(engine, claim, WORK, WORK, gathers=True)
            parents.append(claim.id)
        else:
            engine.complete(claim)
    finish_off(engine)

    assert {engine.state(parent_id) for parent_id in parents} == {"completed"}
    assert {engine.task(parent_id).attempt for parent_id in parents} == {1}


def test_a_family_that_does_not_gather_has_no_second_step(engine: Engine) -> None:
    parent_id, _ = family(engine, 2)

    assert parent_id not in finish_off(engine)
