"""Staggering of items over a period."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from rolecall import stagger

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_three_hundred_stores_in_six_batches_over_a_day_are_fifty_every_four_hours() -> None:
    batches = Counter(moment for _, moment in stagger(range(300), batches=6, over=DAY, start=START))

    assert batches == {START + timedelta(hours=hour): 50 for hour in (0, 4, 8, 12, 16, 20)}


def test_batches_differ_by_one_at_most_and_nothing_is_left_out() -> None:
    places = list(stagger("abcdefghij", batches=4, over=DAY, start=START))

    assert [item for item, _ in places] == list("abcdefghij")
    assert sorted(Counter(moment for _, moment in places).values()) == [2, 2, 3, 3]


def test_nothing_is_spread_to_nothing() -> None:
    assert list(stagger([], over=DAY, start=START)) == []


def test_fewer_things_than_batches_keep_their_distance() -> None:
    assert [moment for _, moment in stagger("ab", batches=6, over=DAY, start=START)] == [START, START + DAY / 2]


@pytest.mark.parametrize(
    ("batches", "over", "start"),
    [(0, DAY, START), (6, -DAY, START), (6, DAY, START.replace(tzinfo=None))],
)
def test_what_cannot_be_spread_is_refused(batches: int, over: timedelta, start: datetime) -> None:
    with pytest.raises(ValueError, match="stagger needs"):
        stagger("ab", batches=batches, over=over, start=start)
