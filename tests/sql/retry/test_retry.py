"""Operators retry finished tasks."""

from __future__ import annotations

import pytest

from tests.sql.engine import LEASE, Engine
from tests.sql.interleavings.stage import Stage, commit, opening


def fail_for_good(engine: Engine, **words: object) -> int:
    task_id = engine.enqueue(**words)
    engine.fail(engine.claim_one(), final=True)
    return task_id


def test_retried_failed_task_has_all_attempts_again(engine: Engine) -> None:
    task_id = fail_for_good(engine, payload={"store": 7}, key="k", max_attempts=2)

    assert engine.retry(task_id) == {task_id: "pending"}

    task = engine.task(task_id)
    assert (task.state, task.attempt, task.max_attempts, task.payload, task.key) == ("pending", 0, 2, {"store": 7}, "k")
    assert task.error == "boom"
    assert engine.claim_one().attempt == 1


def test_retry_does_not_reset_the_fence(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    zombie = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    assert engine.rescue() == {task_id: "failed"}
    engine.retry(task_id)
    assert engine.complete(zombie) == "taken"

    owner = engine.claim_one()

    assert owner.fence > zombie.fence
    assert engine.complete(zombie) == "taken"


def test_cancelled_task_can_be_retried(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.cancel(task_id)

    assert engine.retry(task_id) == {task_id: "pending"}
    assert engine.task(task_id).cancel_requested_at is None


def test_each_id_of_a_batch_has_its_own_answer(engine: Engine) -> None:
    failed = fail_for_good(engine)
    done = engine.enqueue()
    engine.complete(engine.claim_one())
    still_open = engine.enqueue()

    answers = engine.retry(done, 4711, failed, still_open)

    assert answers == {done: "completed", 4711: "missing", failed: "pending", still_open: "open"}


def test_retry_is_rejected_if_an_open_task_has_the_dedupe_key(engine: Engine) -> None:
    failed = fail_for_good(engine, dedupe_key="d")
    engine.enqueue(dedupe_key="d")

    assert engine.retry(failed) == {failed: "duplicate"}
    assert engine.task(failed).state == "failed"


def test_one_of_two_tasks_with_the_same_dedupe_key_is_retried(engine: Engine) -> None:
    ids = [fail_for_good(engine, dedupe_key="d") for _ in range(2)]

    assert sorted(engine.retry(*ids).values()) == ["duplicate", "pending"]


def test_retry_is_recorded_in_the_timeline(engine: Engine) -> None:
    task_id = fail_for_good(engine)

    engine.retry(task_id)

    assert engine.events(task_id) == ["error", "retried"]


def test_retry_resets_the_refunds(engine: Engine) -> None:
    task_id = engine.enqueue()
    for _ in range(10):
        engine.release(engine.claim_one())
    engine.cancel(task_id)
    engine.retry(task_id)

    engine.release(engine.claim_one())

    assert engine.task(task_id).attempt == 0


@pytest.mark.parametrize("lengths", [(2, 2)])
def test_concurrent_retries_by_two_operators_succeed_once(stage: Stage, lengths: tuple[int, int]) -> None:
    for play in stage.orders(*lengths):
        task_id = fail_for_good(stage.engine)
        script = (opening(lambda engine: engine.retry(task_id)), commit)

        [[first, _], [second, _]] = play.run(script, script)

        assert sorted([str(first), str(second)]) == [str({task_id: "open"}), str({task_id: "pending"})]
        assert len(stage.engine.tasks()) == 1
