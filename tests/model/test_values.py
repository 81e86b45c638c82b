from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from rolecall.model.errors import Retry
from rolecall.model.outcomes import Snooze
from rolecall.model.retry import RetryKind, RetryPolicy, exponential, immediate, linear, no_retry
from rolecall.model.states import FINISHED_STATES, TaskState
from rolecall.model.tasks import NewTask


def test_three_states_are_final() -> None:
    assert {"completed", "failed", "cancelled"} == FINISHED_STATES
    assert [state for state in TaskState if state.is_finished] == [
        TaskState.COMPLETED,
        TaskState.FAILED,
        TaskState.CANCELLED,
    ]


def test_options_change_a_copy() -> None:
    task = NewTask(handler="fetch")

    changed = task.options(priority=5, key="store:7")

    assert (changed.priority, changed.key, changed.handler) == (5, "store:7", "fetch")
    assert task.priority == 0


def test_a_task_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NewTask(handler="fetch").priority = 3  # type: ignore[misc]  # that it is refused is the point


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_a_snooze_must_end(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite number of seconds"):
        Snooze(seconds)


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_the_next_attempt_must_come(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite number of seconds"):
        Retry(after=seconds)


@pytest.mark.parametrize("put_off", [Snooze, Retry])
def test_putting_off_takes_either_seconds_or_a_moment(put_off: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="either a number of seconds or a moment"):
        put_off()


def test_not_both_seconds_and_a_moment() -> None:
    moment = datetime(2031, 5, 2, tzinfo=UTC)

    with pytest.raises(ValueError, match="either a number of seconds or a moment"):
        Snooze(3, until=moment)
    with pytest.raises(ValueError, match="either a number of seconds or a moment"):
        Retry(after=3, at=moment)


def test_a_moment_needs_a_time_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Snooze(until=datetime(2031, 5, 2))  # noqa: DTZ001 - that it is refused is the point


@pytest.mark.parametrize("field", ["first", "factor", "step", "cap", "jitter"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_policy_of_absurd_numbers_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        RetryPolicy(kind=RetryKind.LINEAR, **{field: value})


def test_jitter_is_a_share() -> None:
    with pytest.raises(ValueError, match="at most 1"):
        exponential(jitter=1.5)


def test_the_presets_have_the_promised_numbers() -> None:
    assert exponential().to_json() == {
        "kind": "exponential", "first": 10.0, "factor": 2.0, "step": 0.0, "cap": 300.0, "jitter": 0.1,
    }  # fmt: skip
    assert (linear().kind, linear().step, linear().cap) == (RetryKind.LINEAR, 5.0, 60.0)
    assert immediate().cap == 0
    assert no_retry().kind is RetryKind.NONE
