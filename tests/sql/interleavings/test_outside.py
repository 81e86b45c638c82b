"""Finishing, deleting and triggering tasks from outside, concurrently with workers, in every order."""

from __future__ import annotations

import psycopg

from tests.sql.engine import Claim, Engine
from tests.sql.families import family
from tests.sql.interleavings.stage import Stage, Step, commit, opening, rollback


def sqlstate(answer: object) -> str | None:
    return answer.sqlstate if isinstance(answer, psycopg.Error) else None


def running(engine: Engine, **words: object) -> Claim:
    engine.enqueue(**words)
    return engine.claim_one()


def complete_outside(task_id: int) -> Step:
    return lambda engine: engine.complete_task(task_id, "outside")


def complete(claim: Claim) -> Step:
    return lambda engine: engine.complete(claim, result="inside")


def show(token: str) -> Step:
    return lambda engine: engine.value("select rolecall.complete_by_token(%s)", token)


def retry(task_id: int) -> Step:
    return lambda engine: engine.retry(task_id)


def trigger(task_id: int) -> Step:
    return lambda engine: engine.rows("select rolecall.trigger(array[%s])", task_id)


def delete(*ids: int, cascade: bool = False) -> Step:
    return lambda engine: engine.delete_chains(*ids, cascade=cascade)


def test_completion_from_outside_during_the_workers_completion_is_stored_once(stage: Stage) -> None:
    """The first outcome is stored, and the other caller gets the reason."""
    for play in stage.orders(2, 2):
        claim = running(stage.engine)

        [[outcome, _], [verdict, _]] = play.run(
            (opening(complete_outside(claim.id)), commit), (opening(complete(claim)), commit)
        )

        result = stage.engine.task(claim.id).result
        assert (outcome, verdict, result) in {("completed", "completed", "outside"), ("finished", None, "inside")}


def test_rolled_back_completion_from_outside_does_not_affect_the_worker(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        claim = running(stage.engine)

        [_, [verdict, _]] = play.run(
            (opening(complete_outside(claim.id)), rollback), (opening(complete(claim)), commit)
        )

        assert (verdict, stage.engine.task(claim.id).result) == (None, "inside")


def test_completion_from_outside_wins_over_a_failure_to_be_retried(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        claim = running(stage.engine, key="k")

        [[outcome, _], _] = play.run(
            (opening(complete_outside(claim.id)), commit), (opening(lambda engine: engine.fail(claim)), commit)
        )

        assert (outcome, stage.engine.task(claim.id).state) == ("completed", "completed")


def test_completion_from_outside_during_a_claim_makes_the_claim_lost(stage: Stage) -> None:
    """The claim skips the task, or is lost."""
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue(key="k")

        [[outcome, _], [claims, _]] = play.run(
            (opening(complete_outside(task_id)), commit), (opening(lambda engine: engine.claim(1, worker=1)), commit)
        )

        assert outcome == "completed"
        assert isinstance(claims, list)
        assert [stage.engine.renew(claim) for claim in claims] in ([], [{task_id: "completed"}])


def test_only_one_of_two_completions_from_outside_succeeds(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue(after=60)
        script = (opening(complete_outside(task_id)), commit)

        [[first, _], [second, _]] = play.run(script, script)

        assert {first, second} == {"completed", "finished"}


def test_token_used_twice_concurrently_is_accepted_once(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        token = stage.engine.value("select rolecall.issue_token(%s)", stage.engine.enqueue(after=60))
        script = (
            opening(show(token)),
            commit,
        )

        [[first, _], [second, _]] = play.run(script, script)

        assert {sqlstate(first), sqlstate(second)} == {None, "RC004"}


def test_parent_is_completed_from_outside_while_its_last_child_finishes(stage: Stage) -> None:
    """The tree is locked in one order, children first."""
    for play in stage.orders(2, 2):
        parent, [child] = family(stage.engine, 1)
        claim = stage.engine.claim_one()

        [[outcome, _], [verdict, _]] = play.run(
            (opening(complete_outside(parent)), commit), (opening(complete(claim)), commit)
        )

        assert outcome in {"completed", "finished"}
        assert (verdict, stage.engine.task(parent).state, stage.engine.task(child).state) == (
            None,
            "completed",
            "completed",
        )


def test_chain_is_completed_from_outside_while_it_is_continued(stage: Stage) -> None:
    """The open task is determined after the locks are taken."""
    for play in stage.orders(2, 2):
        claim = running(stage.engine)

        def go_on(engine: Engine, claim: Claim = claim) -> object:
            return engine.complete(claim, next={"continuation": {"role": "work", "after": 60}})

        def end(engine: Engine, chain: int = claim.id) -> object:
            return engine.value("select rolecall.complete_chain(%s)", chain)

        [[outcome, _], _] = play.run((opening(end), commit), (opening(go_on), commit))

        assert outcome == "completed"
        assert not stage.engine.value("select open from rolecall.chains")


def test_deletion_during_a_completion_leaves_no_task(stage: Stage) -> None:
    """The worker gets `deleted`, or its completed task is deleted."""
    for play in stage.orders(2, 2):
        claim = running(stage.engine, key="k")

        [[deleted, _], [verdict, _]] = play.run((opening(delete(claim.id)), commit), (opening(complete(claim)), commit))

        assert deleted == {claim.id: 1}
        assert verdict in {None, "deleted"}
        assert stage.engine.tasks() == []


def test_deletion_during_a_continuation_leaves_no_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        claim = running(stage.engine)

        def go_on(engine: Engine, claim: Claim = claim) -> object:
            return engine.complete(claim, next={"continuation": {"role": "work"}})

        play.run((opening(delete(claim.id)), commit), (opening(go_on), commit))

        assert stage.engine.tasks() == []


def test_deletion_while_the_parent_spawns_leaves_no_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        claim = running(stage.engine)

        def spread(engine: Engine, claim: Claim = claim) -> object:
            return engine.complete(claim, next={"children": [{"role": "work"}] * 2})

        play.run((opening(delete(claim.id)), commit), (opening(spread), commit))

        assert stage.engine.tasks() == []


def test_deletion_while_a_dependent_is_enqueued_rejects_one_of_them(stage: Stage) -> None:
    """The chain is kept for the dependent, or the dependent is rejected."""
    for play in stage.orders(2, 2):
        chain = stage.engine.enqueue()

        def depend(engine: Engine, chain: int = chain) -> object:
            return engine.enqueue(needs=[{"chain": chain}])

        [[deleted, _], [dependent, _]] = play.run((opening(delete(chain)), commit), (opening(depend), commit))

        assert (sqlstate(deleted), sqlstate(dependent)) in {("RC005", None), (None, "RC040")}


def test_deletions_of_the_same_chains_in_opposite_order_do_not_deadlock(stage: Stage) -> None:
    """Rows are locked in one order, whatever the order of the ids."""
    for play in stage.orders(2, 2):
        first, second = stage.engine.enqueue(key="k"), stage.engine.enqueue()
        third = stage.engine.enqueue(needs=[first])

        [[one, _], [other, _]] = play.run(
            (opening(delete(third, first, second)), commit), (opening(delete(second, third, cascade=True)), commit)
        )

        assert isinstance(one, dict)
        assert isinstance(other, dict)
        assert sorted([*one, *other]) == [first, second, third]


def test_deletion_of_a_tree_while_a_child_finishes_leaves_no_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        parent, _ = family(stage.engine, 2)
        claim = stage.engine.claim_one()

        [[deleted, _], _] = play.run((opening(delete(parent)), commit), (opening(complete(claim)), commit))

        assert isinstance(deleted, dict)
        assert len(deleted) == 3
        assert stage.engine.tasks() == []


def test_deletion_of_a_failed_task_during_its_retry_leaves_no_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue()
        stage.engine.fail_task(task_id)

        play.run((opening(delete(task_id)), commit), (opening(retry(task_id)), commit))

        assert stage.engine.tasks() == []


def test_trigger_during_a_claim_succeeds_or_is_rejected(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue(after=1, key="k")
        stage.engine.clock.advance(seconds=1)

        [[triggered, _], [claims, _]] = play.run(
            (
                opening(trigger(task_id)),
                commit,
            ),
            (opening(lambda engine: engine.claim(1, worker=1)), commit),
        )

        assert sqlstate(triggered) in ({None} if claims == [] else {None, "RC003"})
