from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from rolecall.model.errors import InvalidTask
from rolecall.model.outcomes import Blocked, Cancelled, Completed, Failed, Report, Snoozed
from rolecall.model.retry import linear
from rolecall.model.tasks import Enqueued, Need, NewTask, NextTasks
from rolecall.sql.claims import reports_document
from rolecall.sql.enqueue import enqueue_chunks, enqueue_many, tasks_document


def _item(task: NewTask) -> Any:
    (item,) = json.loads(tasks_document([task]))
    return item


def _report(report: Report) -> Any:
    (item,) = json.loads(reports_document([report]))
    return item


def test_default_options_are_omitted() -> None:
    assert _item(NewTask(handler="fetch", payload={"a": 1})) == {
        "handler": "fetch", "payload": {"a": 1},
    }  # fmt: skip


def test_all_options_are_serialized() -> None:
    east = timezone(timedelta(hours=2))
    task = NewTask(
        role="mail",
        priority=-3,
        scheduled_for=datetime(2026, 1, 1, 14, tzinfo=east),
        after=1.5,
        key="k",
        dedupe_key="d",
        max_attempts=0,
        retry=linear(),
    )

    assert _item(task) == {
        "role": "mail",
        "payload": {},
        "priority": -3,
        "scheduled_for": "2026-01-01T14:00:00+02:00",
        "after": 1.5,
        "key": "k",
        "dedupe_key": "d",
        "max_attempts": 0,
        "retry": linear().to_json(),
    }


@pytest.mark.parametrize(
    "bad",
    [
        NewTask(handler="h", payload=[1]),  # type: ignore[arg-type]  # on purpose
        NewTask(handler="h", payload={"a": math.nan}),
        NewTask(handler="h\0"),
        NewTask(handler="h", key="\ud800"),
        NewTask(handler="h", after=math.inf),
        NewTask(handler="h", scheduled_for=datetime(2026, 1, 1)),  # noqa: DTZ001 - on purpose
    ],
    ids=["list", "nan", "handler", "key", "after", "no zone"],
)
def test_invalid_task_is_identified_by_its_position(bad: NewTask) -> None:
    with pytest.raises(InvalidTask) as refused:
        tasks_document([NewTask(handler="h"), bad])

    assert refused.value.index == 1
    assert str(refused.value).startswith("task 1: ")


def test_position_is_counted_from_the_start_of_a_long_batch() -> None:
    batch = [NewTask(handler="h")] * 5 + [NewTask(handler="h", payload={"a": math.nan})]

    with pytest.raises(InvalidTask) as refused:
        enqueue_chunks(batch, size=2)

    assert refused.value.index == 5


def test_long_batch_is_split_into_statements() -> None:
    statements = enqueue_chunks([NewTask(handler="h", payload={"n": n}) for n in range(5)], size=2)

    lengths = [len(json.loads(str(statement.params[0]))) for statement in statements]

    assert lengths == [2, 2, 1]
    assert enqueue_chunks([]) == []


def test_answers_mark_existing_tasks() -> None:
    statement = enqueue_many([NewTask(handler="h")] * 3)

    answers = statement.read([([7, 8, 9], [8])])

    assert [(answer.id, answer.deduplicated) for answer in answers] == [(7, False), (8, True), (9, False)]


def test_completed_outcome_contains_its_result_unchanged() -> None:
    report = Completed(
        id=1, fence=2, result_json='{"a":[1]}', ran=0.25, next_tasks=NextTasks(follow_ups=[NewTask(handler="next")])
    )

    assert _report(report) == {
        "id": 1,
        "fence": 2,
        "outcome": "completed",
        "result": {"a": [1]},
        "ran": 0.25,
        "next": {"follow_ups": [{"handler": "next", "payload": {}}]},
    }


def test_minimal_outcome_has_no_optional_fields() -> None:
    assert _report(Completed(id=1, fence=2)) == {"id": 1, "fence": 2, "outcome": "completed"}


def test_failed_outcome_contains_error_reason_and_retry_options() -> None:
    report = Failed(id=1, fence=2, error='he said "no"\n\0', reason="timeout", final=True, after=3, ran=1)

    assert _report(report) == {
        "id": 1,
        "fence": 2,
        "outcome": "failed",
        "error": 'he said "no"\n\ufffd',
        "reason": "timeout",
        "final": True,
        "after": 3,
        "ran": 1,
    }


def test_snoozed_and_cancelled_outcomes_differ() -> None:
    assert _report(Snoozed(id=1, fence=2, after=30)) == {
        "id": 1, "fence": 2, "outcome": "snoozed", "after": 30,
    }  # fmt: skip
    assert _report(Cancelled(id=1, fence=2, error="pointless")) == {
        "id": 1, "fence": 2, "outcome": "cancelled", "error": "pointless",
    }  # fmt: skip


@pytest.mark.parametrize(("delay", "sent"), [(1e300, 3e9), (-5, 0), (math.nan, 0), (math.inf, 3e9)])
def test_invalid_delay_is_limited(delay: float, sent: float) -> None:
    assert _report(Snoozed(id=1, fence=2, after=delay))["after"] == sent


def test_invalid_follow_up_is_rejected_before_sending() -> None:
    bad = NextTasks(follow_ups=[NewTask(handler="h", payload={"a": "\0"})])

    with pytest.raises(InvalidTask):
        reports_document([Completed(id=1, fence=1, next_tasks=bad)])


def test_needs_within_a_batch_are_serialized_by_position() -> None:
    first, second = NewTask(handler="a"), NewTask(handler="b")
    third = NewTask(handler="c", needs=[first, Need(second, name="b", on_failure="ignore"), 7, Need(8, chain=True)])

    (_, _, item) = json.loads(tasks_document([first, second, third]))

    assert item["needs"] == [
        {"item": 0, "on_failure": "fail"},
        {"item": 1, "name": "b", "on_failure": "ignore"},
        {"task": 7, "on_failure": "fail"},
        {"chain": 8, "on_failure": "fail"},
    ]


def test_need_on_a_later_or_missing_task_of_the_batch_is_rejected() -> None:
    later = NewTask(handler="later")

    with pytest.raises(InvalidTask, match="same batch") as refusal:
        tasks_document([NewTask(handler="a"), NewTask(handler="b", needs=[later]), later])

    assert refusal.value.index == 1


def test_blocked_outcome_contains_its_needs() -> None:
    assert _report(Blocked(id=1, fence=2, needs=[Enqueued(5), Need(6, name="six")])) == {
        "id": 1,
        "fence": 2,
        "outcome": "blocked",
        "needs": [{"task": 5, "on_failure": "fail"}, {"task": 6, "name": "six", "on_failure": "fail"}],
    }
