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


def test_parent_becomes_pending_for_its_next_step_after_the_last_child(engine: Engine) -> None:
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


def test_gather_step_finishes_the_parent(engine: Engine) -> None:
    claim = gathering(engine)
    engine.complete(claim, result={"sum": 2})

    assert (engine.state(claim.id), engine.task(claim.id).result) == ("completed", {"sum": 2})


def test_gather_step_without_a_result_keeps_the_result_of_the_first_step(engine: Engine) -> None:
    engine.enqueue()
    spread(engine, engine.claim_one(), WORK, gathers=True, result="first")
    engine.complete(engine.claim_one())
    claim = engine.claim_one()
    engine.complete(claim)

    assert engine.task(claim.id).result == "first"


def test_parent_without_children_still_gathers(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, gathers=True)

    assert (engine.claim_one().step, engine.state(parent_id)) == (1, "running")


def test_gather_step_can_spawn_and_gather_again(engine: Engine) -> None:
    claim = gathering(engine)
    spread(engine, claim, WORK, gathers=True)
    engine.complete(engine.claim_one())

    assert engine.claim_one().step == 2


def test_step_number_exceeds_the_smallint_limit(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, gathers=True)
    engine.rows("update rolecall.tasks set step_number = 32767 where id = %s", parent_id)

    engine.complete(engine.claim_one())

    assert (engine.claim_one().step, engine.task(parent_id).step) == (32768, 32768)


def test_children_of_the_next_step_can_be_serial_or_concurrent(engine: Engine) -> None:
    """Only children that are open at the same time must be of one kind."""
    parent_of(engine, WORK, serial=True, gathers=True)
    engine.complete(engine.claim_one())
    children = spread(engine, engine.claim_one(), WORK, WORK)

    assert sorted(engine.claim_all()) == children


def test_failed_child_fails_its_parent_before_the_gather_step(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, gathers=True)
    engine.fail(engine.claim_one(), final=True)

    assert engine.state(parent_id) == "failed"


def test_gather_step_reads_ignored_failures(engine: Engine) -> None:
    parent_id, children = parent_of(engine, {**WORK, "on_failure": "ignore"}, WORK, gathers=True)
    claims = engine.claim_all()
    engine.fail(claims[children[0]], final=True)
    engine.complete(claims[children[1]])

    assert engine.state(parent_id) == "pending"
    assert engine.rows("select state::text from rolecall.children_of(%s)", parent_id) == [("failed",), ("completed",)]


def test_gather_step_reads_only_children_of_the_claim_that_spawned_it(engine: Engine) -> None:
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


def test_snoozed_gather_step_is_claimed_again(engine: Engine) -> None:
    claim = gathering(engine)
    engine.snooze(claim, 60)
    engine.clock.advance(seconds=60)
    again = engine.claim_one()

    assert (again.id, again.step, again.attempt) == (claim.id, 1, 1)


def test_returned_gather_step_is_claimed_again(engine: Engine) -> None:
    claim = gathering(engine)
    engine.release(claim)
    again = engine.claim_one()

    assert (again.id, again.step, again.attempt) == (claim.id, 1, 1)


def test_crashed_gather_step_is_claimed_again(engine: Engine) -> None:
    claim = gathering(engine)
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()
    engine.clock.advance(seconds=60)
    again = engine.claim_one()

    assert (again.id, again.step, again.attempt) == (claim.id, 1, 2)


def test_failing_gather_step_is_retried_like_any_step(engine: Engine) -> None:
    claim = gathering(engine)
    for _ in range(3):
        engine.fail(claim, after=0)
        claim = next(iter(engine.claim(1)), claim)

    assert engine.state(claim.id) == "failed"
    assert claim.attempt == 3


def test_several_parents_gather_their_own_children(engine: Engine) -> None:
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


def test_parent_without_gather_has_no_second_step(engine: Engine) -> None:
    parent_id, _ = family(engine, 2)

    assert parent_id not in finish_off(engine)
