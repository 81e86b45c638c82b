"""Looks come often while something happens, seldom while nothing does, and never take more than their share."""

from __future__ import annotations

import pytest

from rolecall.service.live.rhythm import Rhythm, RhythmOptions

OPTIONS = RhythmOptions(least=0.25, most=1.0, share=0.02)


def test_pauses_grow_while_nothing_happens() -> None:
    rhythm = Rhythm(OPTIONS)

    pauses = [rhythm.looked(0.001, stirred=stirred) for stirred in (True, False, False, False, False, False, True)]

    assert pauses == pytest.approx([0.25, 0.375, 0.5625, 0.84375, 1.0, 1.0, 0.25])


def test_an_expensive_look_is_followed_by_a_pause_that_nothing_shortens() -> None:
    rhythm = Rhythm(OPTIONS)

    assert rhythm.looked(0.2, stirred=True) == pytest.approx(10)
    assert rhythm.floor == pytest.approx(10)
