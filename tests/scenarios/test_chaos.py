from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.chaos.soak import Options, soak


@pytest.mark.timeout(420)
def test_no_fault_loses_doubles_or_confuses_a_task(tmp_path: Path) -> None:
    """covers SPEC E5-1, E5-4, E5-7, RELIABILITY F1, F2, F3, F4, F5, F7, F10, F11, F12, F13"""
    report = soak(Options(seed=7), tmp_path)

    assert report.violations == []
    assert report.missing == [], "the faults did not bite, so nothing was proved"
