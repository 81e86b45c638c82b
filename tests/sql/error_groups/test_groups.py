"""Failures are counted in error groups, which operators mute and resolve."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import LEASE, START, STEP, Engine
from tests.sql.error_groups.test_identify import errors


def fail(engine: Engine, error: str = "ValueError: order 7", **words: object) -> int:
    task_id = engine.enqueue(**words)
    engine.fail(engine.claim_one(), error, final=True)
    return task_id


def groups(engine: Engine, **conditions: object) -> list[dict[str, Any]]:
    """Add new failures to their groups; return the groups that match."""
    while engine.value("select rolecall.group_failures()"):
        pass
    query = "select to_jsonb(found) from rolecall.find_error_groups(%s) as found"
    return [row for (row,) in engine.rows(query, Jsonb(conditions))]


def group(engine: Engine, **conditions: object) -> dict[str, Any]:
    [found] = groups(engine, **conditions)
    return found


def mark(engine: Engine, group_id: int, state: str) -> str | None:
    before: str | None = engine.value("select rolecall.mark_error_group(%s, %s)", group_id, state)
    return before


def test_failed_tasks_with_the_same_cause_are_one_group(engine: Engine) -> None:
    ids = [fail(engine, f"ValueError: order {number} is closed") for number in range(3)]

    found = group(engine)

    assert (found["handler"], found["type"], found["message"]) == ("work", "ValueError", "order * is closed")
    assert (found["failed"], found["retried"], found["state"], found["sample_id"]) == (3, 0, "new", ids[-1])
    assert {engine.task(task_id).error_group for task_id in ids} == {found["id"]}


def test_ten_ways_to_fail_are_ten_groups_with_their_numbers(engine: Engine) -> None:
    for number in range(5):
        for error in errors(number).values():
            fail(engine, error)

    assert [found["failed"] for found in groups(engine)] == [5] * len(errors(0))


def test_failures_of_one_report_are_counted(engine: Engine) -> None:
    worker = engine.worker()
    for _ in range(4):
        engine.enqueue()
    claims = engine.claim(4, worker=worker)

    engine.finish(worker, *(
        {"id": claim.id, "fence": claim.fence, "outcome": "failed", "error": f"E: {claim.id}", "final": True}
        for claim in claims
    ))  # fmt: skip

    assert group(engine)["failed"] == 4


def test_failed_attempt_that_is_retried_is_counted_apart(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.fail(engine.claim_one(), "ValueError: 7")

    found = group(engine)

    assert (found["failed"], found["retried"], found["sample_id"]) == (0, 1, task_id)
    assert engine.task(task_id).error_group is None


def test_snoozed_task_is_no_failure(engine: Engine) -> None:
    engine.enqueue()
    engine.snooze(engine.claim_one(), 5)

    assert groups(engine) == []


def test_completed_task_belongs_to_no_group(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one())

    assert (engine.task(task_id).error_group, groups(engine)) == (None, [])


def test_task_lost_with_its_worker_belongs_to_a_group(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    engine.start(engine.claim_one())
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()

    assert group(engine)["id"] == engine.task(task_id).error_group


def test_task_failed_from_outside_belongs_to_a_group(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.fail_task(task_id, "not needed any more")

    assert group(engine)["message"] == "not needed any more"


def test_first_and_last_failure_are_known(engine: Engine) -> None:
    fail(engine)
    engine.clock.advance(seconds=90)
    fail(engine)

    found = group(engine)

    assert (found["first_at"], found["last_at"], found["opened_at"]) == tuple(
        (START + timedelta(seconds=seconds)).isoformat() for seconds in (0, 90, 0)
    )


def test_failures_of_the_last_day_are_counted_by_hour(engine: Engine) -> None:
    fail(engine)
    groups(engine)
    engine.clock.advance(hours=2)
    fail(engine)
    fail(engine)

    assert group(engine)["hours"][-3:] == [1, 0, 2]
    assert len(group(engine)["hours"]) == 24


def test_releases_of_the_first_and_the_last_failure_are_known(engine: Engine) -> None:
    for release in ("r1", "r2"):
        worker = engine.worker()
        engine.rows("update rolecall.workers set release = %s where id = %s", release, worker)
        engine.enqueue()
        engine.fail(engine.claim_one(worker=worker), "E", final=True)
        found = group(engine)

    assert (found["first_release"], found["last_release"]) == ("r1", "r2")


def test_resolved_group_is_new_again_after_a_failure(engine: Engine) -> None:
    fail(engine)
    assert mark(engine, group(engine)["id"], "resolved") == "new"
    engine.clock.advance(seconds=60)
    fail(engine)

    found = group(engine)

    assert found["state"] == "new"
    assert found["opened_at"] == found["state_at"] == (START + timedelta(seconds=60)).isoformat()
    assert (found["first_at"], found["failed"]) == (START.isoformat(), 2)


def test_failure_before_the_group_was_resolved_does_not_reopen_it(engine: Engine) -> None:
    fail(engine)
    group_id = group(engine)["id"]
    fail(engine)
    engine.clock.advance(seconds=1)
    mark(engine, group_id, "resolved")

    assert (group(engine)["state"], group(engine)["failed"]) == ("resolved", 2)


def test_muted_group_stays_muted(engine: Engine) -> None:
    fail(engine)
    mark(engine, group(engine)["id"], "muted")
    engine.clock.advance(seconds=1)
    fail(engine)

    assert (group(engine)["state"], group(engine)["failed"]) == ("muted", 2)


def test_unknown_group_cannot_be_marked(engine: Engine) -> None:
    assert mark(engine, 4711, "muted") is None


@pytest.mark.parametrize(
    "conditions",
    [
        {"handler": "other"},
        {"states": ["muted", "resolved"]},
        {"text": "order x"},
        {"since": (START + timedelta(seconds=1)).isoformat()},
        {"ids": [4711]},
    ],
)
def test_groups_that_do_not_match_are_not_listed(engine: Engine, conditions: dict[str, object]) -> None:
    fail(engine)

    assert groups(engine, **conditions) == []


@pytest.mark.parametrize(
    "conditions", [{"handler": "work"}, {"states": ["new"]}, {"text": "VALUE"}, {"since": START.isoformat()}]
)
def test_groups_that_match_are_listed(engine: Engine, conditions: dict[str, object]) -> None:
    fail(engine)

    assert len(groups(engine, **conditions)) == 1


def test_failed_tasks_of_a_group_are_found(engine: Engine) -> None:
    wanted = [fail(engine, "KeyError: 1"), fail(engine, "KeyError: 2")]
    fail(engine, "IndexError: 1")

    found = engine.value(
        "select ids from rolecall.find_tasks(%s)", Jsonb({"error_group": engine.task(wanted[0]).error_group})
    )

    assert found == wanted[::-1]


def failures(engine: Engine, group_id: int) -> tuple[int, str | None]:
    [row] = engine.rows("select failed_tasks, error from rolecall.failures_of_group(%s)", group_id)
    return row


def test_retried_task_leaves_the_failed_ones_of_its_group(engine: Engine) -> None:
    task_id = fail(engine, "E: 7")
    group_id = group(engine)["id"]
    assert failures(engine, group_id) == (1, "E: 7")

    engine.retry(task_id)

    assert (failures(engine, group_id)[0], group(engine)["failed"]) == (0, 1)


def test_text_of_a_retried_attempt_is_known(engine: Engine) -> None:
    engine.enqueue()
    engine.fail(engine.claim_one(), "E: 7\nTraceback")
    engine.clock.advance(seconds=STEP)
    engine.fail(engine.claim_one(), "Other: 7")

    [group_id] = [found["id"] for found in groups(engine, text="E: *")]

    assert failures(engine, group_id) == (0, "E: 7\nTraceback")


def test_groups_past_retention_are_pruned(engine: Engine) -> None:
    fail(engine)
    assert len(groups(engine)) == 1
    engine.clock.advance(days=31)

    engine.prune()

    assert groups(engine) == []
    assert engine.rows("select from rolecall.error_hours") == []


def test_retries_are_due_after_their_delays(engine: Engine) -> None:
    ids = [fail(engine) for _ in range(3)]

    engine.rows("select rolecall.retry(%s, %s)", ids, [0.0, 0.5, 60.0])

    assert [(engine.task(each).scheduled_for - START).total_seconds() for each in ids] == [0, 0.5, 60]
