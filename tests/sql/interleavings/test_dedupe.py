"""Concurrent tasks of one dedupe key, in every order: each payload is stored exactly once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Claim, Document, Engine
from tests.sql.interleavings.stage import Stage, Step, commit, opening, rollback

UNION = {"mode": "merge", "merge": {"fields": {"ids": "union", "n": "sum"}}}
MODES = [UNION, {"mode": "replace"}, {"scope": "pending"}, {"scope": "any", "window": 60}]


def draft(number: int, dedupe: Document, key: str = "d") -> Document:
    return {"role": "work", "dedupe_key": key, "dedupe": dedupe, "payload": {"ids": [number], "n": 1}}


def adding(number: int, dedupe: Document = UNION) -> Step:
    return lambda engine: engine.enqueue(**draft(number, dedupe))


def adding_all(*drafts: Document) -> Step:
    return lambda engine: engine.enqueue_many(list(drafts))


def finishing(claim: Claim) -> Step:
    return lambda engine: engine.complete(claim)


def cancelling(*ids: int) -> Step:
    return lambda engine: engine.cancel(*ids)


def holding(task_id: int) -> Step:
    return lambda engine: engine.rows("select from rolecall.tasks where id = %s for update", task_id)


def errors(answers: list[list[object]]) -> list[psycopg.Error]:
    return [answer for several in answers for answer in several if isinstance(answer, psycopg.Error)]


def payloads(engine: Engine) -> list[list[int]]:
    return [sorted(task.payload["ids"]) for task in engine.tasks()]


@pytest.mark.parametrize("dedupe", MODES, ids=str)
def test_second_task_is_stored_if_the_first_is_rolled_back(stage: Stage, dedupe: Document) -> None:
    """The second call waits for the first, in every order."""
    for play in stage.orders(2, 1):
        answers = play.run((opening(adding(1, dedupe)), rollback), (adding(2, dedupe),))

        assert [task.id for task in stage.engine.tasks()] == answers[1]
        assert payloads(stage.engine) == [[2]]


def test_existing_task_is_not_claimed_before_the_finder_commits(stage: Stage) -> None:
    for play in stage.orders(2, 1):
        standing = stage.engine.enqueue(**draft(1, {"scope": "pending"}))
        seen: list[Claim] = []

        play.run(
            (opening(adding(2, {"scope": "pending"})), commit), (lambda engine: seen.extend(engine.claim(1, worker=1)),)
        )

        is_between = play.order == (0, 1, 0)
        assert [claim.id for claim in seen] == ([] if is_between else [standing])
        claimed_first = play.order == (1, 0, 0)
        assert len(stage.engine.tasks()) == 1 + claimed_first


def test_both_payloads_are_merged_if_the_first_call_commits(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        [[first, _], [second, _]] = play.run((opening(adding(1)), commit), (opening(adding(2)), commit))

        assert first == second
        assert payloads(stage.engine) == [[1, 2]]


def test_rolled_back_merge_leaves_no_trace(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        adding(0)(stage.engine)

        play.run((opening(adding(1)), rollback), (opening(adding(2)), commit))

        assert payloads(stage.engine) == [[0, 2]]


def test_keep_mode_does_not_wait_for_a_lock_on_the_existing_task(stage: Stage) -> None:
    """It takes no row lock."""
    for play in stage.orders(2, 1):
        first = adding(1)(stage.engine)

        answers = play.run(
            (opening(lambda engine: engine.rows("select from rolecall.tasks for update")), rollback), (adding(2, {}),)
        )

        assert (answers[1], play.waited) == ([first], set())


def test_claim_during_a_merge_loses_no_payload(stage: Stage) -> None:
    """The claim has the merged payload, or the merge stored a new task."""
    for play in stage.orders(2, 2):
        adding(1)(stage.engine)

        play.run((opening(lambda engine: engine.claim(1, worker=1)), commit), (opening(adding(2)), commit))

        assert payloads(stage.engine) in ([[1, 2]], [[1], [2]])


def test_rolled_back_claim_leaves_one_merged_task(stage: Stage) -> None:
    for play in stage.orders(2, 1):
        adding(1)(stage.engine)

        play.run((opening(lambda engine: engine.claim(1, worker=1)), rollback), (adding(2),))

        assert payloads(stage.engine) == [[1, 2]]


def test_cancel_during_a_merge_loses_no_payload(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        first = stage.engine.enqueue(**draft(1, UNION))

        answers = play.run((opening(cancelling(first)), commit), (opening(adding(2)), commit))

        assert errors(answers) == []
        done = {task.state: sorted(task.payload["ids"]) for task in stage.engine.tasks()}
        assert done in ({"cancelled": [1, 2]}, {"cancelled": [1], "pending": [2]})


def test_throttled_call_finds_a_task_that_was_finished_meanwhile(stage: Stage) -> None:
    """A window is checked by one session at a time."""

    def come_and_go(engine: Engine) -> object:
        task_id = adding(1, MODES[3])(engine)
        engine.complete(engine.claim_one(worker=1))
        return task_id

    for play in stage.orders(2, 1):
        [[first, _], [second]] = play.run((opening(come_and_go), commit), (adding(2, MODES[3]),))

        assert first == second
        assert len(stage.engine.tasks()) == 1


@pytest.mark.parametrize("standing", [False, True])
def test_mixed_batches_with_the_same_keys_in_different_order_do_not_deadlock(stage: Stage, standing: bool) -> None:
    """A gate locks the middle key, so that each batch has its first locks when it opens."""
    ways = [UNION, {"mode": "replace"}, {"scope": "any", "window": 60}, {"scope": "open"}]
    batches = [
        [draft(n, ways[(n + turn) % 4], key) for n, key in enumerate(keys)]
        for turn, keys in ((0, "abmyz"), (1, "zymba"))
    ]
    for play in stage.orders(2, 1, 1):
        if standing:
            stage.engine.enqueue_many([draft(9, UNION, key) for key in "zamby"])

        answers = play.run(
            (opening(adding_all(draft(7, UNION, "m"))), rollback), *((adding_all(*batch),) for batch in batches)
        )

        assert errors(answers) == []


def test_batch_of_merges_and_cancellation_of_the_same_tasks_do_not_deadlock(stage: Stage) -> None:
    """The tasks to change are locked in the order of their ids before the first is changed."""
    for play in stage.orders(2, 1, 1):
        ids, _ = stage.engine.enqueue_many([draft(1, UNION, key) for key in "zma"])

        answers = play.run(
            (opening(holding(ids[1])), rollback),
            (adding_all(*(draft(2, UNION, key) for key in "amz")),),
            (cancelling(*ids),),
        )

        assert errors(answers) == []


def test_postponing_keyed_tasks_and_finishing_the_holder_do_not_deadlock(stage: Stage) -> None:
    """Freeing a key unparks a task that the merge postpones."""
    put_off = {**draft(2, {"mode": "replace"}), "key": "k", "after": 60}
    for play in stage.orders(2, 2):
        stage.engine.enqueue(key="k")
        [holder] = stage.engine.claim(1, worker=1)
        stage.engine.enqueue_many(
            [{**draft(1, UNION), "key": "k"}, {"role": "work", "key": "k", "payload": {"ids": []}}]
        )
        assert stage.engine.claim(3) == []

        answers = play.run((opening(adding_all(put_off)), commit), (opening(finishing(holder)), commit))

        assert errors(answers) == []
        assert [claim.payload["ids"] for claim in stage.engine.claim(3)] == [[]]


@pytest.mark.parametrize("also_claimed", [False, True])
def test_fifty_concurrent_merges_lose_no_payload(engine: Engine, session: Session, also_claimed: bool) -> None:
    sessions = [session() for _ in range(10)]
    rounds = [[(one, 10 * turn + n) for n, one in enumerate(sessions)] for turn in range(5)]
    with ThreadPoolExecutor(10) as threads:
        for pairs in rounds:
            list(threads.map(lambda pair: pair[0].enqueue(**draft(pair[1], UNION)), pairs))
            if also_claimed:
                engine.complete(engine.claim_one())

    tasks = engine.tasks()
    assert len(tasks) == (5 if also_claimed else 1)
    assert sorted(number for task in tasks for number in task.payload["ids"]) == list(range(50))
    assert sum(task.payload["n"] for task in tasks) == 50


def test_duplicate_batches_and_finish_of_an_existing_task_do_not_deadlock(stage: Stage) -> None:
    """The first batch already has locked other keys, which the second waits for, when it finds the task gone."""
    for play in stage.orders(2, 1, 1, 1):
        stage.engine.enqueue(dedupe_key="a")
        standing = stage.engine.claim_one(worker=1)
        a, b, c = ({"role": "work", "dedupe_key": key} for key in "abc")

        answers = play.run(
            (opening(adding_all(c)), rollback), (adding_all(a, b, c),), (finishing(standing),), (adding_all(a, b),)
        )

        assert errors(answers) == []
