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


def test_options_return_a_changed_copy() -> None:
    task = NewTask(handler="fetch")

    changed = task.options(priority=5, key="store:7")

    assert (changed.priority, changed.key, changed.handler) == (5, "store:7", "fetch")
    assert task.priority == 0


def test_task_is_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NewTask(handler="fetch").priority = 3  # type: ignore[misc]  # that it is refused is the point


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_snooze_requires_a_finite_delay(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite number of seconds"):
        Snooze(seconds)


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_retry_requires_a_finite_delay(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite number of seconds"):
        Retry(after=seconds)


@pytest.mark.parametrize("put_off", [Snooze, Retry])
def test_snooze_and_retry_require_a_delay_or_a_time(put_off: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="either a number of seconds or a moment"):
        put_off()


def test_delay_and_time_together_are_rejected() -> None:
    moment = datetime(2031, 5, 2, tzinfo=UTC)

    with pytest.raises(ValueError, match="either a number of seconds or a moment"):
        Snooze(3, until=moment)
    with pytest.raises(ValueError, match="either a number of seconds or a moment"):
        Retry(after=3, at=moment)


def test_time_without_a_time_zone_is_rejected() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Snooze(until=datetime(2031, 5, 2))  # noqa: DTZ001 - that it is refused is the point


@pytest.mark.parametrize("field", ["first", "factor", "step", "cap", "jitter"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_policy_with_out_of_range_numbers_is_rejected(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        RetryPolicy(kind=RetryKind.LINEAR, **{field: value})


def test_jitter_above_1_is_rejected() -> None:
    with pytest.raises(ValueError, match="at most 1"):
        exponential(jitter=1.5)


def test_presets_have_the_documented_numbers() -> None:
    assert exponential().to_json() == {
        "kind": "exponential", "first": 10.0, "factor": 2.0, "step": 0.0, "cap": 300.0, "jitter": 0.1,
    }  # fmt: skip
    assert (linear().kind, linear().step, linear().cap) == (RetryKind.LINEAR, 5.0, 60.0)
    assert immediate().cap == 0
    assert no_retry().kind is RetryKind.NONE
