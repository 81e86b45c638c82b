"""The tasks that a worker holds, and the moments at which its lease keeper looks at them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, cast

from rolecall.model.tasks import ClaimedTask
from rolecall.worker.in_flight import HeldTask, InFlight

CLAIMED_AT = 100.0
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TASK = ClaimedTask(1, 1, 1, 0, "r", "h", 0, "{}", None, 1, 0, NOW, NOW, 60.0, 60.0)


class Observed:
    """The held tasks, with the number of times that the lease keeper was woken."""

    def __init__(self, *, next_look_at: float, notified_at: float = -math.inf) -> None:
        self.wakes = 0
        self.in_flight = InFlight()
        self.in_flight.next_look_at = next_look_at
        self.in_flight.notified_at = notified_at
        self.in_flight.wake_keeper = self.wake

    def wake(self) -> None:
        self.wakes += 1

    def take(self) -> HeldTask:
        held = HeldTask(TASK, cast("Any", None), 1, CLAIMED_AT)
        self.in_flight.take([held])
        return held


def test_task_that_is_due_after_the_next_look_does_not_wake_the_keeper() -> None:
    observed = Observed(next_look_at=CLAIMED_AT)

    observed.take()

    assert observed.wakes == 0


def test_task_that_is_due_before_the_next_look_wakes_the_keeper() -> None:
    observed = Observed(next_look_at=math.inf)

    held = observed.take()

    assert held.renew_at < math.inf
    assert (observed.wakes, observed.in_flight.renews_all) == (1, False)


def test_notification_during_a_claim_renews_all_leases() -> None:
    observed = Observed(next_look_at=CLAIMED_AT, notified_at=CLAIMED_AT)

    observed.take()

    assert (observed.wakes, observed.in_flight.renews_all) == (1, True)
