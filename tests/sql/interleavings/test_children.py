"""Children that finish concurrently with each other, with new children, and with operator calls, in every order."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Claim, Document, report
from tests.sql.families import WORK, family, finish_off, parent_of
from tests.sql.interleavings.stage import Stage, Step, commit, opening, rollback

FINAL = {"final": True, "error": "boom"}


def finish(claim: Claim, outcome: str = "completed", **words: object) -> Step:
    return opening(lambda engine: engine.report(claim, outcome, **words))


def batch(*claims: Claim) -> Step:
    return opening(lambda engine: engine.finish(claims[0].worker_id, *(report(claim, "completed") for claim in claims)))


def refusals(answers: list[list[object]]) -> list[str | None]:
    return [answer.sqlstate for several in answers for answer in several if isinstance(answer, psycopg.Error)]


@pytest.mark.parametrize("gathers", [False, True])
def test_two_last_children_finish_their_parent_once(stage: Stage, gathers: bool) -> None:
    for play in stage.orders(2, 2):
        parent_id, _ = parent_of(stage.engine, WORK, WORK, gathers=gathers)
        first, second = stage.engine.claim_all().values()

        answers = play.run((finish(first), commit), (finish(second), commit))

        assert answers == [[None, None], [None, None]]
        parent = stage.engine.task(parent_id)
        assert (parent.state, parent.step) == (("pending", 1) if gathers else ("completed", 0))


def test_rolled_back_finish_of_one_last_child_leaves_the_parent_waiting(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        parent_id, _ = family(stage.engine, 2)
        first, second = stage.engine.claim_all().values()

        play.run((finish(first), rollback), (finish(second), commit))

        assert (stage.engine.state(parent_id), stage.engine.task(parent_id).open_children) == ("waiting", 1)
        stage.engine.complete(first)
        assert stage.engine.state(parent_id) == "completed"


def test_last_leaves_of_unequal_depth_finish_the_tree(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        root, (branch, leaf) = family(stage.engine, 2)
        claims = stage.engine.claim_all()
        stage.engine.complete(claims[branch], next={"children": [WORK]})
        twig = stage.engine.claim_one()

        play.run((finish(claims[leaf]), commit), (finish(twig), commit))

        assert set(stage.engine.states().values()) == {"completed"}, root


@pytest.mark.parametrize("serial", [False, True])
def test_sibling_added_while_the_last_child_finishes_is_awaited_or_rejected(stage: Stage, serial: bool) -> None:
    """The sibling is awaited or rejected."""
    for play in stage.orders(2, 2):
        parent_id, _ = parent_of(stage.engine, WORK, serial=serial)
        last = stage.engine.claim_one()

        answers = play.run((finish(last), commit), (opening(lambda engine: engine.spawn(parent_id, WORK)), commit))

        state = stage.engine.state(parent_id)
        assert (state, refusals(answers)) in (("waiting", []), ("completed", ["RC044"]))
        finish_off(stage.engine)
        assert set(stage.engine.states().values()) == {"completed"}


def test_two_siblings_added_to_a_serial_parent_run_one_by_one(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        parent_id, _ = parent_of(stage.engine, WORK, serial=True)
        script = (opening(lambda engine: engine.spawn(parent_id, WORK)), commit)

        play.run(script, script)

        for _ in range(3):
            [claim] = stage.engine.claim_all().values()
            stage.engine.complete(claim)
        assert stage.engine.state(parent_id) == "completed"


def test_last_child_spawns_siblings_while_another_finishes(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        parent_id, _ = family(stage.engine, 2)
        first, second = stage.engine.claim_all().values()

        play.run((finish(first, next={"siblings": [WORK]}), commit), (finish(second), commit))

        assert (stage.engine.state(parent_id), stage.engine.task(parent_id).open_children) == ("waiting", 1)


@pytest.mark.parametrize("after", [{}, {"siblings": [WORK]}, {"children": [WORK]}, {"continuation": WORK}], ids=str)
def test_child_finishing_during_a_cancellation_of_its_root_leaves_nothing_open(stage: Stage, after: Document) -> None:
    for play in stage.orders(2, 2):
        root, (child,) = family(stage.engine, 1)
        claim = stage.engine.claim_one()

        answers = play.run((opening(lambda engine: engine.cancel(root)), commit), (finish(claim, next=after), commit))

        assert refusals(answers) == []
        assert stage.engine.claim_all() == {}
        assert stage.engine.state(root) in ({"cancelled"} if after else {"cancelled", "completed"})
        assert stage.engine.state(child) in {"cancelled", "completed"}


def test_gathering_parent_is_cancelled_while_its_last_child_finishes(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        parent_id, _ = parent_of(stage.engine, WORK, gathers=True)
        claim = stage.engine.claim_one()

        answers = play.run((opening(lambda engine: engine.cancel(parent_id)), commit), (finish(claim), commit))

        assert refusals(answers) == []
        assert stage.engine.state(parent_id) == "cancelled"
        assert stage.engine.claim_all() == {}


def test_gather_step_is_claimed_or_cancelled(stage: Stage) -> None:
    """The key is kept between the steps."""
    for play in stage.orders(2, 2):
        stage.engine.enqueue(key="store")
        parent = stage.engine.claim_one()
        stage.engine.complete(parent, next={"children": [WORK], "gathers": True})
        stage.engine.complete(stage.engine.claim_one())

        [[answer, _], [claims, _]] = play.run(
            (opening(lambda engine: engine.cancel(parent.id)), commit),
            (opening(lambda engine: engine.claim(1, worker=1)), commit),
        )

        assert answer == {parent.id: "requested" if claims else "cancelled"}


def test_failed_child_is_retried_while_the_last_child_finishes(stage: Stage) -> None:
    """The parent counts the child again, or has finished without it."""
    for play in stage.orders(2, 2):
        parent_id, (failed, last) = family(stage.engine, 2)
        claims = stage.engine.claim_all()
        stage.engine.fail(claims[failed], final=True)

        play.run((opening(lambda engine: engine.retry(failed)), commit), (finish(claims[last]), commit))

        assert stage.engine.state(parent_id) in {"waiting", "failed"}
        waited = stage.engine.state(parent_id) == "waiting"
        assert finish_off(stage.engine) == [failed]
        assert stage.engine.state(parent_id) == ("completed" if waited else "failed")


def test_failed_parent_is_retried_while_its_running_child_finishes(stage: Stage) -> None:
    """The parent counts open children only."""
    for play in stage.orders(2, 2):
        parent_id = stage.engine.enqueue()
        parent = stage.engine.claim_one()
        stage.engine.spawn(parent_id, WORK)
        child = stage.engine.claim_one()
        stage.engine.fail(parent, final=True)

        play.run((opening(lambda engine: engine.retry(parent_id)), commit), (finish(child), commit))

        assert stage.engine.task(parent_id).open_children == 0
        finish_off(stage.engine)
        assert stage.engine.state(parent_id) == "completed"


def test_parent_and_a_child_spawned_during_its_run_finish_concurrently(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        parent_id = stage.engine.enqueue()
        parent = stage.engine.claim_one()
        stage.engine.spawn(parent_id, WORK)
        child = stage.engine.claim_one()

        play.run((finish(parent), commit), (finish(child), commit))

        assert set(stage.engine.states().values()) == {"completed"}


def test_parent_fails_while_a_child_spawned_during_its_run_completes(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        parent_id = stage.engine.enqueue()
        parent = stage.engine.claim_one()
        stage.engine.spawn(parent_id, WORK)
        child = stage.engine.claim_one()

        answers = play.run((finish(parent, "failed", **FINAL), commit), (finish(child), commit))

        assert answers == [[None, None], [None, None]]
        assert stage.engine.states() == {parent_id: "failed", child.id: "completed"}


@pytest.mark.parametrize("other", ["completed", "failed"])
def test_cancel_siblings_child_fails_while_a_sibling_finishes(stage: Stage, other: str) -> None:
    for play in stage.orders(2, 2):
        parent_id, _ = family(stage.engine, 3, on_failure="cancel_siblings")
        first, second, _ = stage.engine.claim_all().values()

        answers = play.run((finish(first, "failed", **FINAL), commit), (finish(second, other, **FINAL), commit))

        assert answers == [[None, None], [None, None]]
        assert (stage.engine.state(second.id), stage.engine.state(parent_id)) == (other, "waiting")


def test_batches_of_children_of_two_roots_in_opposite_order_do_not_deadlock(stage: Stage) -> None:
    """Roots are locked in one order."""
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([WORK, WORK])
        first, second = stage.engine.claim(2, worker=1)
        for parent in (first, second):
            stage.engine.complete(parent, next={"children": [WORK, WORK]})
        claims = stage.engine.claim_all(1).values()
        ours, theirs = ([claim for claim in claims if claim.parent_id == parent.id] for parent in (first, second))

        answers = play.run(
            (batch(ours[0], theirs[0]), commit),
            (batch(theirs[1], ours[1]), commit),
        )

        assert answers == [[{}, None], [{}, None]]
        assert set(stage.engine.states().values()) == {"completed"}
