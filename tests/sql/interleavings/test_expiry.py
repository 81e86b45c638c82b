"""Expiry concurrent with claims, finishes of its key, cancellations and repeated enqueues."""

from __future__ import annotations

from tests.sql.engine import Engine
from tests.sql.interleavings.stage import Stage, Step, commit, opening


def at_the_last_moment(step: Step) -> Step:
    """Return a step that runs with the clock one second before the tasks expire."""

    def early(engine: Engine) -> object:
        engine.rows("select set_config('rolecall.fake_now', (rolecall.clock() - interval '1 s')::text, true)")
        return step(engine)

    return opening(early)


def later(stage: Stage) -> None:
    stage.engine.clock.advance(seconds=30)


def test_expired_task_is_either_claimed_in_time_or_cancelled(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue(expires=30)
        worker = stage.engine.worker()
        later(stage)

        [[claims, _], [ended, _]] = play.run(
            (at_the_last_moment(lambda engine: engine.claim(1, worker=worker)), commit),
            (opening(Engine.expire), commit),
        )

        assert play.waited == set()
        assert (len(claims), stage.engine.state(task_id)) in ((1, "running"), (0, "cancelled"))
        assert len(claims) + len(ended) == 1


def test_freeing_a_key_during_expiry_leaves_no_task_parked(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue(key="k")
        holder = stage.engine.claim_one()
        stage.engine.enqueue(key="k", expires=30)
        alive = stage.engine.enqueue(key="k")
        stage.engine.claim(1)
        later(stage)

        play.run((opening(lambda engine: engine.complete(holder)), commit), (opening(Engine.expire), commit))

        stage.engine.expire()
        assert stage.engine.claim_one().id == alive


def test_task_cancelled_and_expired_concurrently_ends_once(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        task_id = stage.engine.enqueue(key="k", expires=30)
        later(stage)

        play.run((opening(lambda engine: engine.cancel(task_id)), commit), (opening(Engine.expire), commit))

        assert stage.engine.state(task_id) == "cancelled"
        assert len(stage.engine.events(task_id)) == 1


def test_enqueue_during_expiry_stores_a_new_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        late = stage.engine.enqueue(dedupe_key="d", expires=30)
        later(stage)

        [[new, _], _] = play.run(
            (opening(lambda engine: engine.enqueue(dedupe_key="d")), commit), (opening(Engine.expire), commit)
        )

        assert new != late
        assert stage.engine.states() == {late: "cancelled", new: "pending"}
