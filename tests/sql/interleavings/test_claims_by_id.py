"""Claims by id concurrent with claims, offers, completions and rescues, in every order."""

from __future__ import annotations

from tests.sql.engine import LEASE, Claim, Engine
from tests.sql.interleavings.stage import Stage, Step, commit, opening, rollback


def by_id(*ids: int, worker: int) -> Step:
    """Return a step that begins a transaction and claims these tasks."""
    return opening(lambda engine: engine.claim_these(*ids, worker=worker))


def running(engine: Engine) -> list[int]:
    return [task.id for task in engine.tasks() if task.state == "running"]


def test_task_claimed_concurrently_in_three_ways_runs_once(stage: Stage) -> None:
    """Neither call waits for the other, and the loser gets the reason."""
    for play in stage.orders(2, 2, 1):
        task_id = stage.engine.enqueue()
        workers = [stage.engine.worker() for _ in range(3)]

        [[one, _], [other, _], [claims]] = play.run(
            (by_id(task_id, worker=workers[0]), commit),
            (by_id(task_id, worker=workers[1]), commit),
            (lambda engine: engine.claim(1, worker=workers[2]),),
        )

        assert play.waited == set()
        given = [answer for answer in (one, other) if answer[0]]  # type: ignore[index]
        refused = [answer[1] for answer in (one, other) if not answer[0]]  # type: ignore[index]
        assert len(given) + len(claims) == 1
        assert all(verdicts in ({task_id: "busy"}, {task_id: "taken"}) for verdicts in refused)


def test_concurrent_claims_of_one_key_take_its_permit_once(stage: Stage) -> None:
    for play in stage.orders(2, 2, 1):
        first, second = (stage.engine.enqueue(key="store") for _ in range(2))
        workers = [stage.engine.worker() for _ in range(2)]

        play.run(
            (by_id(second, first, worker=workers[0]), commit),
            (opening(lambda engine: engine.claim(2, worker=workers[1])), commit),
            (lambda engine: engine.offers(),),
        )

        assert play.waited == set()
        assert running(stage.engine) == [first]


def test_rolled_back_claim_by_id_leaves_the_key_to_others(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        first, second = (stage.engine.enqueue(key="store") for _ in range(2))
        workers = [stage.engine.worker() for _ in range(2)]

        play.run((by_id(first, second, worker=workers[0]), rollback), (by_id(first, second, worker=workers[1]), commit))

        assert play.waited == set()
        assert len(running(stage.engine)) + len(stage.engine.claim_these(first)[0]) == 1


def test_claims_by_id_in_opposite_key_order_do_not_wait(stage: Stage) -> None:
    """This includes keys without a row."""
    for play in stage.orders(3, 3):
        a, b = (stage.engine.enqueue(key=key) for key in "ab")
        workers = [stage.engine.worker() for _ in range(2)]

        play.run(
            (by_id(a, worker=workers[0]), lambda engine: engine.claim_these(b, worker=workers[0]), commit),
            (by_id(b, worker=workers[1]), lambda engine: engine.claim_these(a, worker=workers[1]), commit),
        )

        assert play.waited == set()
        assert set(running(stage.engine)) <= {a, b}


def test_claim_by_id_or_offer_during_a_completion_leaves_no_task_parked(stage: Stage) -> None:
    for play in stage.orders(2, 2, 1):
        first, second, _third = (stage.engine.enqueue(key="store") for _ in range(3))
        [holder], _ = stage.engine.claim_these(first)
        stage.engine.rows("update rolecall.tasks set parked = false")
        worker = stage.engine.worker()

        play.run(
            (by_id(second, worker=worker), commit),
            (opening(lambda engine: engine.complete(holder)), commit),
            (lambda engine: engine.offers(),),
        )

        assert not play.waited & {0, 2}
        assert len(running(stage.engine)) + len(stage.engine.claim(3)) == 1


def test_claim_by_id_during_a_rescue_takes_only_a_released_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        claim = expired(stage.engine)
        worker = stage.engine.worker()

        [_, [(given, verdicts), _]] = play.run(  # type: ignore[misc]
            (opening(Engine.rescue), commit), (by_id(claim.id, worker=worker), commit)
        )

        assert play.waited == set()
        assert [one.fence for one in given] in ([], [claim.fence + 2])  # type: ignore[has-type]
        assert verdicts in ({}, {claim.id: "taken"}, {claim.id: "busy"})  # type: ignore[has-type]


def expired(engine: Engine) -> Claim:
    """Return a claim whose lease has expired."""
    [claim], _ = engine.claim_these(engine.enqueue(key="store"))
    engine.clock.advance(seconds=LEASE + 1)
    return claim
