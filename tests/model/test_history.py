"""History: percentiles of histograms, bin sizes, and unknown values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rolecall.model.operator.history import StoredBin, durations_of, points_of, scale_for

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTES = [1, 60, 360, 1_440, 10_080, 43_200, 129_600]


@pytest.mark.parametrize("minutes", MINUTES)
def test_any_time_range_has_at_most_150_steps(minutes: int) -> None:
    scale = scale_for(minutes)

    assert minutes * 60 / scale.width <= 150
    assert scale.width % scale.source == 0


@pytest.mark.parametrize(("minutes", "width"), [(60, 30), (360, 180), (1_440, 600), (10_080, 7_200)])
def test_common_time_ranges_have_fixed_step_widths(minutes: int, width: int) -> None:
    assert scale_for(minutes).width == width


@pytest.mark.parametrize(
    ("minutes", "age", "width", "source"),
    [
        (60, timedelta(days=1, hours=1), 60, 60),
        (1_440, timedelta(days=2), 600, 600),
        (60, timedelta(days=7, hours=1), 600, 600),
        (10_080, timedelta(days=14), 7_200, 3_600),
    ],
)
def test_older_period_has_steps_whose_bins_are_retained(minutes: int, age: timedelta, width: int, source: int) -> None:
    scale = scale_for(minutes, age)

    assert (scale.width, scale.source) == (width, source)


def test_percentile_is_within_its_bucket() -> None:
    durations = durations_of({31: 50, 41: 50}, 15.0)  # 1 to 1.26 s, and 10 to 12.6 s

    assert durations is not None
    assert durations.number == 100
    assert 1.0 <= durations.p50 <= 1.26
    assert 10.0 <= durations.p95 <= 12.6


def test_percentile_does_not_exceed_the_longest_duration() -> None:
    durations = durations_of({31: 1}, 1.01)

    assert durations is not None
    assert durations.p95 == 1.01


def test_empty_histogram_has_no_durations() -> None:
    assert durations_of({}, None) is None


def test_unknown_periods_are_none_and_idle_periods_are_zero() -> None:
    known = (NOON + timedelta(minutes=1), NOON + timedelta(minutes=3, seconds=20))
    points = points_of({}, scale_for(120), NOON, NOON + timedelta(minutes=5), known)

    assert [point.completed for point in points] == [None, 0, 0, 0, None]
    assert [point.seconds for point in points] == [60, 60, 60, 20, 0]
    assert points[1].waiting is None
    assert points[1].ready_tasks is None


def test_stored_bin_is_returned_unchanged() -> None:
    stored = StoredBin(
        at=NOON, completed=4, failed=1, cancelled=0, retried=2, ready=3.5, running=2.0,
        longest_wait=0.5, longest_run=2.0, waits={20: 5}, runs={31: 5},
    )  # fmt: skip
    [point] = points_of({NOON: stored}, scale_for(60), NOON, NOON + timedelta(seconds=30), (NOON, NOON + timedelta(1)))

    assert (point.completed, point.failed, point.retried, point.ready_tasks) == (4, 1, 2, 3.5)
    assert point.running is not None
    assert point.running.number == 5
