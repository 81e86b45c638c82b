"""Staggering of items over a period."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from rolecall import stagger

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_300_stores_in_six_batches_a_day_are_fifty_every_four_hours() -> None:
    batches = Counter(moment for _, moment in stagger(range(300), batches=6, over=DAY, start=START))

    assert batches == {START + timedelta(hours=hour): 50 for hour in (0, 4, 8, 12, 16, 20)}


def test_batch_sizes_differ_by_at_most_one_and_include_all_items() -> None:
    places = list(stagger("abcdefghij", batches=4, over=DAY, start=START))

    assert [item for item, _ in places] == list("abcdefghij")
    assert sorted(Counter(moment for _, moment in places).values()) == [2, 2, 3, 3]


def test_staggering_no_items_returns_nothing() -> None:
    assert list(stagger([], over=DAY, start=START)) == []


def test_fewer_items_than_batches_are_spread_evenly() -> None:
    assert [moment for _, moment in stagger("ab", batches=6, over=DAY, start=START)] == [START, START + DAY / 2]


@pytest.mark.parametrize(
    ("batches", "over", "start"),
    [(0, DAY, START), (6, -DAY, START), (6, DAY, START.replace(tzinfo=None))],
)
def test_invalid_staggering_is_rejected(batches: int, over: timedelta, start: datetime) -> None:
    with pytest.raises(ValueError, match="stagger needs"):
        stagger("ab", batches=batches, over=over, start=start)
