from __future__ import annotations

import pytest

from rolecall.transport.waker import Backoff, Pace, PaceOptions


def pace(poll_interval: float = 5.0, *, deaf: bool = False) -> Pace:
    return Pace(PaceOptions(poll_interval=poll_interval), lambda: deaf)


def test_worker_that_just_ran_dry_polls_again_quickly() -> None:
    it = pace()

    delays = [it.next_delay(now, next_due=None) for now in (0.0, 0.05, 0.15, 0.35)]

    assert delays == [0.05, 0.1, 0.2, 0.4]


def test_worker_idle_for_a_second_polls_at_its_interval_within_5_percent() -> None:
    it = pace()
    it.next_delay(0.0, next_due=None)

    delays = {it.next_delay(2.0, next_due=None) for _ in range(200)}

    assert 4.75 <= min(delays) < 4.9
    assert 5.1 < max(delays) <= 5.25


def test_found_work_restarts_the_quick_polling() -> None:
    it = pace()
    it.next_delay(0.0, next_due=None)
    it.found_work()

    assert it.next_delay(9.0, next_due=None) == 0.05


def test_task_that_becomes_due_ends_the_wait() -> None:
    it = pace()
    it.next_delay(0.0, next_due=None)

    assert it.next_delay(2.0, next_due=0.7) == 0.7
    assert it.next_delay(2.0, next_due=0.000_1) == 0.005


def test_due_task_that_cannot_be_claimed_is_polled_increasingly_rarely() -> None:
    it = pace()
    it.next_delay(0.0, next_due=None)

    delays = [it.next_delay(2.0, next_due=0.0) for _ in range(8)]

    assert delays[:3] == [0.1, 0.2, 0.4]
    assert delays[-1] == 5.0


def test_worker_without_notifications_polls_at_least_every_second() -> None:
    it = pace(deaf=True)
    it.next_delay(0.0, next_due=None)

    assert it.next_delay(2.0, next_due=None) <= 1.05


def test_short_poll_interval_also_applies_to_quick_polling() -> None:
    it = pace(0.02)

    assert it.next_delay(0.0, next_due=None) == 0.02


def test_backoff_grows_to_its_cap_and_restarts() -> None:
    backoff = Backoff(1.0, 4.0)

    delays = [backoff.next() for _ in range(5)]
    backoff.reset()

    assert delays == pytest.approx([1, 2, 4, 4, 4], rel=0.25)
    assert backoff.next() <= 1.25
