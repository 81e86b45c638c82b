"""Needs declared while the needed task finishes, continues or is cancelled, in every order."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Claim
from tests.sql.families import WORK, finish_off
from tests.sql.interleavings.stage import Stage, Step, commit, opening, rollback

NEEDS = [pytest.param("task", id="task"), pytest.param("chain", id="chain")]


def finish(claim: Claim, outcome: str = "completed", **words: object) -> Step:
    return opening(lambda engine: engine.report(claim, outcome, final=True, error="boom", **words))


def enqueue(*needs: object) -> Step:
    return opening(lambda engine: engine.enqueue(needs=list(needs)))


def failed(answers: list[list[object]]) -> list[str | None]:
    return [answer.sqlstate for several in answers for answer in several if isinstance(answer, psycopg.Error)]


@pytest.mark.parametrize("kind", NEEDS)
@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_task_is_not_stuck_if_its_need_finishes_during_enqueue(stage: Stage, kind: str, outcome: str) -> None:
    for play in stage.orders(2, 2):
        needed = stage.engine.enqueue()
        claim = stage.engine.claim_one()

        [[task_id, _], _] = play.run((enqueue({kind: needed}), commit), (finish(claim, outcome), commit))

        assert isinstance(task_id, int)
        assert stage.engine.state(task_id) == ("pending" if outcome == "completed" else "failed")


def test_task_stays_blocked_if_the_finish_of_its_need_is_rolled_back(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        needed = stage.engine.enqueue()
        claim = stage.engine.claim_one()

        [[task_id, _], _] = play.run((enqueue(needed), commit), (finish(claim), rollback))

        assert stage.engine.state(task_id) == "blocked"
        stage.engine.complete(claim)
        assert stage.engine.state(task_id) == "pending"


def test_need_finishes_although_its_dependents_enqueue_is_rolled_back(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        needed = stage.engine.enqueue()
        claim = stage.engine.claim_one()

        play.run((enqueue(needed), rollback), (finish(claim), commit))

        assert stage.engine.states() == {needed: "completed"}


def test_two_last_needs_finish_concurrently(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        needed, _ = stage.engine.enqueue_many([WORK, WORK])
        task_id = stage.engine.enqueue(needs=needed)
        first, second = stage.engine.claim_all().values()

        play.run((finish(first), commit), (finish(second), commit))

        assert stage.engine.state(task_id) == "pending"


def test_two_needs_fail_concurrently(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        needed, _ = stage.engine.enqueue_many([WORK, WORK])
        task_id = stage.engine.enqueue(needs=needed)
        first, second = stage.engine.claim_all().values()

        answers = play.run((finish(first, "failed"), commit), (finish(second, "failed"), commit))

        assert (failed(answers), stage.engine.state(task_id)) == ([], "failed")


def test_chain_is_continued_while_a_dependent_is_enqueued(stage: Stage) -> None:
    """The last task of the chain at that time is locked."""
    for play in stage.orders(2, 2):
        chain = stage.engine.enqueue()
        claim = stage.engine.claim_one()

        [[task_id, _], _] = play.run(
            (enqueue({"chain": chain}), commit), (finish(claim, next={"continuation": WORK}), commit)
        )

        assert stage.engine.state(task_id) == "blocked"
        assert finish_off(stage.engine)[-1] == task_id


def test_continued_chain_finishes_while_a_dependent_is_enqueued(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        chain = stage.engine.enqueue()
        claim = stage.engine.claim_one()
        stage.engine.complete(claim, next={"continuation": WORK})
        last = stage.engine.claim_one()

        [[task_id, _], _] = play.run((enqueue({"chain": chain}), commit), (finish(last), commit))

        assert stage.engine.state(task_id) == "pending"


def test_need_is_cancelled_while_its_dependent_is_enqueued(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        needed = stage.engine.enqueue()

        [[task_id, _], _] = play.run((enqueue(needed), commit), (opening(lambda engine: engine.cancel(needed)), commit))

        assert stage.engine.state(task_id) == "failed"


def test_blocked_task_is_cancelled_while_its_need_finishes(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue()
        claim = stage.engine.claim_one()
        task_id = stage.engine.enqueue(needs=[claim.id])

        answers = play.run((opening(lambda engine: engine.cancel(task_id)), commit), (finish(claim), commit))

        assert (failed(answers), stage.engine.state(task_id)) == ([], "cancelled")


def test_running_task_gets_a_need_that_finishes_meanwhile(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([WORK, WORK])
        waiting, needed = stage.engine.claim_all().values()

        play.run((opening(lambda engine: engine.block(waiting, needed.id)), commit), (finish(needed), commit))

        assert stage.engine.state(waiting.id) == "pending"


def test_two_running_tasks_cannot_need_each_other(stage: Stage) -> None:
    """One of them is rejected, or rolled back and then rejected."""
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([WORK, WORK])
        first, second = stage.engine.claim_all().values()

        answers = play.run(
            (opening(lambda engine: engine.block(first, second.id)), commit),
            (opening(lambda engine: engine.block(second, first.id)), commit),
        )

        assert failed(answers) == ["RC043"]


def test_four_running_tasks_cannot_need_each_other_in_a_circle(stage: Stage) -> None:
    """The two last edges of the circle have no task in common."""
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([WORK] * 4)
        a, b, c, d = stage.engine.claim_all().values()
        stage.engine.block(a, b.id)
        stage.engine.block(c, d.id)

        answers = play.run(
            (opening(lambda engine: engine.block(b, c.id)), commit),
            (opening(lambda engine: engine.block(d, a.id)), commit),
        )

        assert failed(answers) == ["RC043"]


def test_task_retried_while_its_need_finishes_becomes_pending(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue()
        claim = stage.engine.claim_one()
        task_id = stage.engine.enqueue(needs=[claim.id])
        stage.engine.cancel(task_id)

        play.run((opening(lambda engine: engine.retry(task_id)), commit), (finish(claim), commit))

        assert stage.engine.state(task_id) == "pending"


def test_parent_with_a_key_finishes_during_a_claim_of_the_key(stage: Stage) -> None:
    """The holder waits for its child."""
    for play in stage.orders(2, 2):
        stage.engine.enqueue_many([{"role": "work", "key": "store"}] * 3)
        stage.engine.complete(stage.engine.claim_one(), next={"children": [WORK]})
        child = next(claim for claim in stage.engine.claim(3, worker=1) if claim.key is None)

        play.run((opening(lambda engine: engine.claim(3, worker=2)), commit), (finish(child), commit))

        taken = [task for task in stage.engine.tasks() if task.state == "running"]
        assert len(taken) + len(stage.engine.claim_all()) == 1
