"""Batches that lock the same rows in different order: one can wait for the other, but there is no deadlock.

A gate locks a row that both need, so that each has its first locks when the gate opens.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.engine import Claim, Engine, report
from tests.sql.interleavings.stage import Play, Stage, Step, commit, opening, rollback


def errors(answers: list[list[object]]) -> list[psycopg.Error]:
    return [answer for several in answers for answer in several if isinstance(answer, psycopg.Error)]


def behind_a_gate(play: Play, gate: Step, *calls: Step) -> list[psycopg.Error]:
    """Run the calls while a session holds the gate, then open it; return the errors."""
    return errors(play.run((opening(gate), rollback), *((call,) for call in calls)))


def hold(query: str, *params: object) -> Step:
    return lambda engine: engine.rows(query, *params)


def finish(worker: int, *reports: dict[str, object]) -> Step:
    return lambda engine: engine.finish(worker, *reports)


def cancel(*ids: int) -> Step:
    return lambda engine: engine.cancel(*ids)


def test_mixed_batch_of_outcomes_and_cancellation_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        stage.engine.enqueue_many([{"role": "work"}] * 2)
        low, high = stage.engine.claim(2, worker=1)

        failed = behind_a_gate(
            play,
            hold("select from rolecall.tasks where id = %s for update", high.id),
            finish(1, report(high, "completed"), report(low, "failed", error="x")),
            cancel(low.id, high.id),
        )

        assert failed == []


def test_cancelling_a_parked_task_and_finishing_the_holder_do_not_deadlock(stage: Stage) -> None:
    """The finish of the holder needs the row that the cancellation has locked."""
    for play in stage.orders(2, 1, 1):
        holder, first, second = key_with_two_parked(stage.engine)

        failed = behind_a_gate(
            play,
            hold("select from rolecall.keys for update"),
            finish(1, report(holder, "completed")),
            cancel(first),
        )

        assert failed == []
        assert [claim.id for claim in stage.engine.claim(3)] == [second]


def test_rolled_back_cancellation_leaves_a_parked_task_claimable(stage: Stage) -> None:
    for play in stage.orders(2, 1):
        holder, first, _ = key_with_two_parked(stage.engine)

        play.run((opening(cancel(first)), rollback), (finish(1, report(holder, "completed")),))

        assert [claim.id for claim in stage.engine.claim(3)] == [first]


def test_cancelling_holder_and_parked_tasks_while_finishing_does_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        holder, first, second = key_with_two_parked(stage.engine)

        failed = behind_a_gate(
            play,
            hold("select from rolecall.keys for update"),
            finish(1, report(holder, "completed")),
            cancel(first, holder.id, second),
        )

        assert failed == []
        assert {task.state for task in stage.engine.tasks()} == {"completed", "cancelled"}


def test_cancellation_waiting_for_keys_does_not_deadlock_with_claim_and_return(stage: Stage) -> None:
    """A session that holds the key of a running task must not wait for the task, whose release waits for the key."""
    for play in stage.orders(2, 3, 1):
        stage.engine.rows("insert into rolecall.keys (key) values ('a'), ('b')")
        low, high = (stage.engine.enqueue(key=key) for key in "ab")
        taken: list[Claim] = []

        failed = errors(
            play.run(
                (opening(hold("select from rolecall.keys where key = 'b' for update")), rollback),
                (opening(claim_one(taken)), commit, give_back(taken)),
                (cancel(low, high),),
            )
        )

        assert failed == []


def test_cancellation_does_not_deadlock_with_a_snoozed_and_parked_task(stage: Stage) -> None:
    """A session that locks a parked task must lock its key first, because freeing the key unparks the task."""
    for play in stage.orders(2, 3, 1):
        stage.engine.rows("insert into rolecall.keys (key, capacity) values ('store', 2)")
        stage.engine.enqueue_many([{"role": "work", "key": "store"}] * 2 + [{"role": "work"}])
        snoozed, other, last = sorted(stage.engine.claim(3, worker=1), key=lambda claim: claim.id)

        failed = errors(
            play.run(
                (opening(hold("select from rolecall.tasks where id = %s for update", last.id)), rollback),
                (opening(snooze_behind_another(snoozed)), commit, finish(1, report(other, "completed"))),
                (cancel(snoozed.id, last.id),),
            )
        )

        assert failed == []


def test_two_mixed_batches_that_free_the_same_keys_do_not_deadlock(stage: Stage) -> None:
    """With a capacity of two, two workers can hold the same keys."""
    for play in stage.orders(2, 1, 1):
        claims = two_claims_of_each(stage.engine, "a", "m", "z")

        failed = behind_a_gate(
            play,
            hold("select from rolecall.keys where key = 'm' for update"),
            finish(
                1,
                report(claims["a"][0], "completed"),
                report(claims["m"][0], "completed"),
                report(claims["z"][0], "failed", error="x"),
            ),
            finish(
                1,
                report(claims["z"][1], "completed"),
                report(claims["m"][1], "completed"),
                report(claims["a"][1], "failed", error="x"),
            ),
        )

        assert failed == []


def test_follow_ups_with_the_same_dedupe_keys_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        stage.engine.enqueue_many([{"role": "work"}] * 6)
        claims = stage.engine.claim(6, worker=1)
        batches = [
            [
                report(claim, "completed", next={"follow_ups": [{"role": "work", "dedupe_key": key}]})
                for claim, key in zip(several, keys, strict=True)
            ]
            for several, keys in ((claims[:3], "amz"), (claims[3:], "zma"))
        ]

        failed = behind_a_gate(
            play, lambda engine: engine.enqueue(dedupe_key="m"), *(finish(1, *batch) for batch in batches)
        )

        assert failed == []
        assert sorted(str(task.dedupe_key) for task in stage.engine.tasks() if task.state == "pending") == [
            "a",
            "m",
            "z",
        ]


def test_batches_with_the_same_dedupe_keys_do_not_deadlock(stage: Stage) -> None:
    """A batch is stored in the order of its dedupe keys."""
    for play in stage.orders(2, 1, 1):
        batches = [[{"role": "work", "dedupe_key": key} for key in keys] for keys in ("amz", "zma")]

        failed = behind_a_gate(
            play,
            lambda engine: engine.enqueue(dedupe_key="m"),
            *(lambda engine, b=batch: engine.enqueue_many(b) for batch in batches),
        )

        assert failed == []
        assert len(stage.engine.tasks()) == 3


@pytest.mark.parametrize("other", [Engine.rescue, lambda engine: engine.rows("select rolecall.deregister_worker(1)")])
def test_maintenance_duty_and_batch_of_outcomes_do_not_deadlock(
    stage: Stage, other: Callable[[Engine], object]
) -> None:
    for play in stage.orders(2, 1, 1):
        stage.engine.enqueue_many([{"role": "work", "key": key} for key in "abc"])
        claims = stage.engine.claim(3, worker=1)
        stage.engine.clock.advance(seconds=100)

        failed = behind_a_gate(
            play,
            hold("select from rolecall.tasks where key = 'b' for update"),
            finish(1, *(report(claim, "failed", error="x") for claim in reversed(claims))),
            other,
        )

        assert failed == []


def claim_one(taken: list[Claim]) -> Step:
    return lambda engine: taken.extend(engine.claim(1, worker=1))


def give_back(taken: list[Claim]) -> Step:
    return lambda engine: engine.release(*taken) if taken else None


def snooze_behind_another(claim: Claim) -> Step:
    """Return a step that snoozes a task and claims another, which parks the first."""

    def act(engine: Engine) -> None:
        engine.finish(1, report(claim, "snoozed", after=0))
        engine.enqueue(key=claim.key, priority=1)
        engine.claim(1, worker=2)

    return act


def key_with_two_parked(engine: Engine) -> tuple[Claim, int, int]:
    engine.enqueue(key="store")
    [holder] = engine.claim(1, worker=1)
    first, second = (engine.enqueue(key="store") for _ in range(2))
    assert engine.claim(2) == []
    return holder, first, second


def two_claims_of_each(engine: Engine, *keys: str) -> dict[str, list[Claim]]:
    engine.rows("insert into rolecall.keys (key, capacity) select unnest(%s::text[]), 2", list(keys))
    engine.enqueue_many([{"role": "work", "key": key} for key in keys * 2])
    claims = engine.claim(6, worker=1)
    return {key: [claim for claim in claims if claim.key == key] for key in keys}
