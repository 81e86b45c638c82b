from __future__ import annotations

import pytest

from tests.scenarios.chaos.pace import MOST_SPARED, RUNS_A_SECOND, Pace


class Machine:
    """One that begins so many handlers a second."""

    def __init__(self, runs_a_second: float) -> None:
        self.now = 0.0
        self.runs = 0.0
        self.runs_a_second = runs_a_second
        self.pace = Pace(lambda: int(self.runs), lambda: self.now)

    def passed_in(self, seconds: int) -> float:
        before = self.pace.seconds()
        for _ in range(seconds):
            self.now += 1
            self.runs += self.runs_a_second
            self.pace.seconds()
        return self.pace.seconds() - before


def test_soak_time_equals_wall_time_if_enough_work_is_done() -> None:
    assert Machine(10 * RUNS_A_SECOND).passed_in(60) == pytest.approx(60)


def test_soak_time_slows_down_with_the_machine() -> None:
    assert Machine(RUNS_A_SECOND / 5).passed_in(60) == pytest.approx(12)


def test_soak_time_stops_soon_after_the_last_work() -> None:
    machine = Machine(100 * RUNS_A_SECOND)
    machine.passed_in(60)
    machine.runs_a_second = 0

    assert machine.passed_in(60) <= MOST_SPARED
