"""The places of keys in a worker."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, cast

from rolecall.model.outcomes import Completed
from rolecall.model.tasks import ClaimedTask, NewTask, NextTasks
from rolecall.worker.in_flight import HeldTask, InFlight, Permit
from rolecall.worker.places import Sequences

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
STORE: Permit = ("store", 1)


class Held:
    """The attributes of a held task that its place needs."""

    def __init__(self, delivered_at: float, *, is_behind: bool) -> None:
        self.permit = STORE
        self.delivered_at = delivered_at
        self.is_behind = is_behind


def held(delivered_at: float = 0.0, *, is_behind: bool = True) -> HeldTask:
    return cast("HeldTask", Held(delivered_at, is_behind=is_behind))


def filled(places: Sequences, *held_tasks: HeldTask) -> list[bool]:
    return [places.admit(each, STORE) for each in held_tasks]


def claimed(**words: Any) -> HeldTask:
    now = datetime.now(UTC)
    task = ClaimedTask(1, 1, 1, 0, "r", "h", 0, "{}", "store", 1, 0, now, now, 60.0, 60.0, **words)
    return HeldTask(task, cast("Any", None), 1, 0.0)


def test_only_the_first_task_of_a_permit_can_start() -> None:
    places = Sequences()
    assert filled(places, held(), held(), held()) == [True, False, False]
    assert places.waiting_count == 2


def test_next_task_can_start_when_the_first_has_left() -> None:
    places, first, second = Sequences(), held(), held()
    filled(places, first, second)
    assert places.leave(first) is second
    assert places.leave(second) is None
    assert filled(places, held()) == [True], "the place is forgotten"


def test_withdrawing_a_queued_task_starts_no_other() -> None:
    places, first, second, third = Sequences(), held(), held(), held()
    filled(places, first, second, third)
    assert places.withdraw(second)
    assert not places.withdraw(first), "the task may have begun"
    assert places.leave(first) is third


def test_tasks_behind_a_late_task_are_also_late() -> None:
    """Otherwise a newer task would run before an older one."""
    places, first, late, newer = Sequences(), held(0), held(1), held(3)
    filled(places, first, late, newer)
    assert places.take_late(2) == [late, newer]
    assert (places.waiting_count, places.take_late(math.inf)) == (0, [])


def test_sequences_shorten_while_tasks_are_late_and_grow_otherwise() -> None:
    places = Sequences()
    before = places.max_length
    places.adapt_length(late=True)
    shorter = places.max_length
    places.adapt_length(late=False)
    assert shorter < places.max_length < before


def test_task_without_a_predecessor_starts_while_its_permit_is_still_used() -> None:
    """The permit is free in the database: its previous task has finished in its own transaction."""
    places, first, lost = Sequences(), held(), held()
    filled(places, first, lost)
    fresh = held(is_behind=False)
    assert filled(places, fresh) == [True]
    assert (places.waiting_count, places.leave(first), places.leave(fresh)) == (0, None, None)


def test_only_attempts_and_suspects_start_only_once_recorded() -> None:
    ordinary = ClaimedTask(1, 1, 1, 0, "r", "h", 0, "{}", None, 1, 0, MOMENT, MOMENT, 60.0, 60.0)
    once = ordinary._replace(max_attempts=1, key="store")
    tasks = [ordinary, once, once._replace(key_slot=1), once._replace(key_slot=-1), ordinary._replace(fence=4)]
    held_tasks = [HeldTask(task, cast("Any", None), 1, 0.0) for task in tasks]

    assert [each.is_started for each in held_tasks] == [False, True, True, False, False]
    assert [each.must_record_start for each in held_tasks] == [False, False, False, True, True]


def test_nothing_starts_after_a_task_that_keeps_its_permit_or_was_returned() -> None:
    done, parent, returned = (claimed(key_slot=1) for _ in range(3))
    done.report = Completed(id=1, fence=1)
    parent.report = Completed(id=1, fence=1, next_tasks=NextTasks(children=[NewTask(role="r")]))
    returned.is_given_back = True
    assert [held.ends_sequence for held in (done, parent, returned)] == [False, True, True]


def test_task_refers_to_its_predecessor_on_the_permit_until_that_is_dropped() -> None:
    in_flight, first, second = InFlight(), claimed(key_slot=1), claimed(key_slot=-1)
    in_flight.take([first])
    in_flight.take([second])
    before = second.predecessor
    in_flight.drop([second])
    in_flight.drop([first])
    third = claimed(key_slot=1)
    in_flight.take([third])
    assert (before, third.predecessor) == (first, None)
