"""Concurrent ticks, manual changes and declarations of one schedule, in every order."""

from __future__ import annotations

import json

import psycopg

from tests.sql.engine import START, Claim, Engine
from tests.sql.interleavings.stage import Stage, Step, commit, opening, rollback

LATER = "2027-01-01T00:00:00+00:00"
PLAN = json.dumps(
    [
        {
            "id": 1,
            "revision": 1,
            "planned_from": START.isoformat(),
            "slots": [START.isoformat()],
            "come": 1,
            "next": LATER,
        }
    ]
)


def fire(engine: Engine) -> object:
    return engine.fire_schedules()


def fire_cron(engine: Engine) -> object:
    return engine.rows("select * from rolecall.fire_cron(%s::jsonb)", PLAN)


def trigger(engine: Engine) -> object:
    return engine.trigger()


def put(document: str) -> Step:
    return lambda engine: engine.value("select rolecall.put_schedule(%s::jsonb)", document)


def delete(engine: Engine) -> object:
    return engine.value("select rolecall.delete_schedule('tick')")


def sqlstate(answer: object) -> str | None:
    return answer.sqlstate if isinstance(answer, psycopg.Error) else None


def keys(engine: Engine) -> list[str]:
    return sorted(task.dedupe_key or "" for task in engine.tasks())


THE_SLOT = f"schedule:1:{int(START.timestamp())}"


def test_two_ticks_fire_a_time_once(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.put_schedule()

        play.run((opening(fire), commit), (opening(fire), commit))

        assert keys(stage.engine) == [THE_SLOT]
        assert not play.waited


def test_rolled_back_tick_leaves_the_fire_time_to_the_next(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.put_schedule()

        play.run((opening(fire), rollback), (opening(fire), commit))
        stage.engine.fire_schedules()

        assert keys(stage.engine) == [THE_SLOT]


def test_two_ticks_with_the_same_plan_fire_it_once(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        put('{"name": "tick", "role": "work", "cron": "@daily"}')(stage.engine)

        play.run((opening(fire_cron), commit), (opening(fire_cron), commit))

        assert keys(stage.engine) == [THE_SLOT]


def test_plan_during_an_expression_change_fires_before_it_or_never(stage: Stage) -> None:
    changed = '{"name": "tick", "cron": "@hourly"}'
    for play in stage.orders(2, 2):
        put('{"name": "tick", "role": "work", "cron": "@daily"}')(stage.engine)

        [[fired, _], _] = play.run((opening(fire_cron), commit), (opening(put(changed)), commit))

        assert keys(stage.engine) == ([THE_SLOT] if fired else [])
        assert stage.engine.value("select next_run_at < '2026-02-01' from rolecall.schedules")


def test_two_manual_runs_are_one_task(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.put_schedule()

        [[first, _], [second, _]] = play.run((opening(trigger), commit), (opening(trigger), commit))

        assert first == second
        assert keys(stage.engine) == ["schedule:1:now"]


def test_manual_run_during_a_tick_skips_no_fire_time(stage: Stage) -> None:
    """The manual run is the task of the fire time, or a separate task before it."""
    for play in stage.orders(2, 2):
        stage.engine.put_schedule()

        [[run, _], _] = play.run((opening(trigger), commit), (opening(fire), commit))
        stage.engine.fire_schedules()

        tasks = {task.id: task.dedupe_key for task in stage.engine.tasks()}
        assert list(tasks.values()).count(THE_SLOT) == 1
        assert run in tasks


def test_second_update_of_the_same_revision_is_rejected(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.put_schedule()
        one, other = (put(f'{{"name": "tick", "revision": 1, "priority": {number}}}') for number in (1, 2))

        [[first, _], [second, _]] = play.run((opening(one), commit), (opening(other), commit))

        assert {sqlstate(first), sqlstate(second)} == {None, "RC023"}


def test_finish_that_counts_generated_tasks_allows_schedule_deletion(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.put_schedule()
        stage.engine.fire_schedules()
        claim = stage.engine.claim_one()

        def complete(engine: Engine, claim: Claim = claim) -> object:
            return engine.complete(claim, next={"follow_ups": [{"role": "work"}] * 2})

        [[verdict, _], [deleted, _]] = play.run((opening(complete), commit), (opening(delete), commit))

        assert (verdict, deleted) == (None, True)
        assert stage.engine.value("select count(*) from rolecall.schedule_runs") == 0


def test_tick_cancels_the_previous_task_while_it_finishes(stage: Stage) -> None:
    """Cancellation and completion lock in one order. A tick that waits too long leaves the new task to the next."""
    for play in stage.orders(2, 2):
        stage.engine.put_schedule(overlap="cancel", key="k", first_run_at="2025-12-31T23:59:30Z")
        stage.engine.fire_schedules()
        claim = stage.engine.claim_one()
        stage.engine.rows("update rolecall.schedules set next_run_at = rolecall.clock()")

        def complete(engine: Engine, claim: Claim = claim) -> object:
            return engine.complete(claim)

        [_, [verdict, _]] = play.run((opening(fire), commit), (opening(complete), commit))
        stage.engine.fire_schedules()

        assert verdict in {None, "cancelled"}
        assert THE_SLOT in keys(stage.engine)
