"""Claims concurrent with claims, completions, cancellations and renewals, in every order."""

from __future__ import annotations

from itertools import chain

from tests.sql.engine import LEASE, Claim, Engine
from tests.sql.interleavings.stage import Stage, commit, opening, rollback


def claims_in(answers: list[list[object]]) -> list[Claim]:
    lists = (answer for answer in chain(*answers) if isinstance(answer, list))
    return [claim for claim in chain(*lists) if isinstance(claim, Claim)]


def test_two_concurrent_claims_of_one_key_run_one_task(stage: Stage) -> None:
    """No call waits or fails, and one of them gets a task."""
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([{"role": "work", "key": "store"}] * 2)
        script = (opening(lambda engine: engine.claim(2, worker=1)), commit)

        answers = play.run(script, script)

        assert len(claims_in(answers)) == 1
        assert play.waited == set()


def test_rolled_back_claim_leaves_its_key_to_others(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([{"role": "work", "key": "store"}] * 2)

        play.run(
            (opening(lambda engine: engine.claim(2, worker=1)), rollback),
            (opening(lambda engine: engine.claim(2, worker=2)), commit),
        )

        assert play.waited == set()
        running = [task for task in stage.engine.tasks() if task.state == "running"]
        assert len(running) + len(stage.engine.claim(2)) == 1


def test_claims_of_new_keys_in_opposite_order_do_not_wait(stage: Stage) -> None:
    """An unused key needs a new row, and inserting it could wait for another transaction."""

    def claim_again(engine: Engine, role: str) -> object:
        claims = engine.claim(1, role, worker=1)
        commit(engine)
        return claims

    def enqueue_crosswise(engine: Engine) -> object:
        return engine.enqueue_many([{"role": "a", "key": "y"}, {"role": "b", "key": "x"}])

    for play in stage.orders(2, 2, 1):
        stage.engine.declare({"name": "a"}, {"name": "b"})
        stage.engine.enqueue_many([{"role": "a", "key": "x"}, {"role": "b", "key": "y"}])

        play.run(
            (opening(lambda engine: engine.claim(1, "a", worker=1)), lambda engine: claim_again(engine, "a")),
            (opening(lambda engine: engine.claim(1, "b", worker=2)), lambda engine: claim_again(engine, "b")),
            (enqueue_crosswise,),
        )

        assert play.waited == set()
        assert {task.key for task in stage.engine.tasks() if task.state == "running"} == {"x", "y"}


def test_claim_during_a_completion_leaves_no_task_parked(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([{"role": "work", "key": "store"}] * 3)
        holder = stage.engine.claim_one()

        play.run(
            (opening(lambda engine: engine.claim(3, worker=1)), commit),
            (opening(lambda engine: engine.complete(holder)), commit),
        )

        assert play.waited <= {1}
        taken = [task for task in stage.engine.tasks() if task.state == "running"]
        assert len(taken) + len(stage.engine.claim(3)) == 1


def test_claim_during_a_rolled_back_completion_does_not_take_the_key(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([{"role": "work", "key": "store"}] * 3)
        holder = stage.engine.claim_one()

        play.run(
            (opening(lambda engine: engine.claim(3, worker=1)), commit),
            (opening(lambda engine: engine.complete(holder)), rollback),
        )

        assert [task.id for task in stage.engine.tasks() if task.state == "running"] == [holder.id]


def test_rescue_during_a_completion_ends_the_task_once(stage: Stage) -> None:
    """The completion is stored, or the rescue is and the completion returns its reason."""
    for play in stage.orders(2, 2):
        claim = expired(stage.engine)

        [[rescued, _], [verdict, _]] = play.run(
            (opening(Engine.rescue), commit), (opening(lambda engine: engine.complete(claim)), commit)
        )

        completed = stage.engine.task(claim.id).state == "completed"
        assert (rescued, verdict) == (({}, None) if completed else ({claim.id: "pending"}, "taken"))


def test_rescue_during_a_renewal_releases_no_renewed_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        claim = expired(stage.engine)

        [[rescued, _], [lost, _]] = play.run(
            (opening(Engine.rescue), commit), (opening(lambda engine: engine.renew(claim)), commit)
        )

        running = stage.engine.task(claim.id).state == "running"
        assert running == (rescued == {})
        assert running or lost in ({}, {claim.id: "taken"}, {claim.id: "busy"})


def test_cancel_during_a_completion_is_requested_or_finished(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue()
        claim = stage.engine.claim_one()

        [[answer, _], [verdict, _]] = play.run(
            (opening(lambda engine: engine.cancel(task_id)), commit),
            (opening(lambda engine: engine.complete(claim)), commit),
        )

        assert verdict is None
        assert stage.engine.task(task_id).state == "completed"
        assert answer in ({task_id: "requested"}, {task_id: "finished"})


def test_cancel_during_a_claim_is_cancelled_or_requested(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue(key="store")

        [[answer, _], [claims, _]] = play.run(
            (opening(lambda engine: engine.cancel(task_id)), commit),
            (opening(lambda engine: engine.claim(1, worker=1)), commit),
        )

        assert (answer == {task_id: "cancelled"}) == (claims == [])
        assert (answer == {task_id: "requested"}) == (claims != [])


def expired(engine: Engine) -> Claim:
    """Return a claim whose lease has expired."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    return claim
