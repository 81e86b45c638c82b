"""Polls are frequent during changes, rare otherwise, and use a limited share of the time."""

from __future__ import annotations

import pytest

from rolecall.service.live.looks import LONGEST_PAUSE, Rhythm, RhythmOptions

OPTIONS = RhythmOptions(least=0.25, most=1.0, share=0.02)


def test_pauses_grow_while_nothing_changes() -> None:
    rhythm = Rhythm(OPTIONS)

    pauses = [
        rhythm.next_pause(0.001, has_changed=has_changed)
        for has_changed in (True, False, False, False, False, False, True)
    ]

    assert pauses == pytest.approx([0.25, 0.375, 0.5625, 0.84375, 1.0, 1.0, 0.25])


def test_expensive_queries_are_followed_by_fixed_long_pauses() -> None:
    rhythm = Rhythm(OPTIONS)

    pauses = [rhythm.next_pause(seconds, has_changed=True) for seconds in (0.2, 0.3, 0.2)]

    assert pauses == pytest.approx([0.25, 0.25, 10])
    assert rhythm.floor == pytest.approx(10)


def test_single_delayed_query_does_not_lengthen_the_pause() -> None:
    rhythm = Rhythm(OPTIONS)

    assert [rhythm.next_pause(seconds, has_changed=True) for seconds in (0.001, 30, 0.001, 30)] == [0.25] * 4


def test_pause_never_exceeds_the_maximum() -> None:
    rhythm = Rhythm(OPTIONS)

    assert [rhythm.next_pause(30, has_changed=True) for _ in range(3)][-1] == LONGEST_PAUSE
