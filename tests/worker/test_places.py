"""The places of keys in a worker, on their own."""

from __future__ import annotations

import math
from typing import cast

from rolecall.worker.in_flight import HeldTask, Place
from rolecall.worker.places import Places

STORE: Place = ("store", 1)


class Held:
    """Of a held task what its place needs."""

    def __init__(self, delivered_at: float = 0.0) -> None:
        self.place = STORE
        self.delivered_at = delivered_at


def held(delivered_at: float = 0.0) -> HeldTask:
    return cast("HeldTask", Held(delivered_at))


def filled(places: Places, *held_tasks: HeldTask) -> list[bool]:
    return [places.admit(each, STORE) for each in held_tasks]


def test_only_the_first_of_a_place_may_begin() -> None:
    places = Places()
    assert filled(places, held(), held(), held()) == [True, False, False]
    assert places.behind == 2


def test_the_next_may_begin_when_the_first_has_left() -> None:
    places, first, second = Places(), held(), held()
    filled(places, first, second)
    assert places.leave(first) is second
    assert places.leave(second) is None
    assert filled(places, held()) == [True], "the place is forgotten"


def test_what_is_withdrawn_from_behind_lets_nothing_begin() -> None:
    places, first, second, third = Places(), held(), held(), held()
    filled(places, first, second, third)
    assert places.withdraw(second)
    assert not places.withdraw(first), "it may have begun"
    assert places.leave(first) is third


def test_behind_a_late_task_all_are_late() -> None:
    """Else a newer one would run before an older."""
    places, first, late, newer = Places(), held(0), held(1), held(3)
    filled(places, first, late, newer)
    assert places.take_late(2) == [late, newer]
    assert (places.behind, places.take_late(math.inf)) == (0, [])


def test_lines_become_shorter_when_tasks_in_them_are_late_and_grow_else() -> None:
    places = Places()
    before = places.run
    places.learn(late=True)
    shorter = places.run
    places.learn(late=False)
    assert shorter < places.run < before
