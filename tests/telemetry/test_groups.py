"""Groups of events: created for sinks that want them, otherwise only counted."""

from __future__ import annotations

import pytest

from rolecall.telemetry import Event, EventType, WorkerFacts
from rolecall.telemetry.events import SomeTask
from rolecall.telemetry.groups import COMPLETIONS, STARTED, Completions, Creations, Emission, Starts, events_of
from rolecall.telemetry.measures import Tally
from tests.telemetry.test_prometheus import Facts

WORKER = WorkerFacts(1, "w")
CREATED = Event(type=EventType.JOB_CREATED, at=0.0, task=Facts())
BOUNDS = (0.1, 1.0, 10.0)


def starts(*numbers: int) -> Starts:
    group = Starts(WORKER)
    group.tasks += [Facts(id=number) for number in numbers]
    group.moments += [float(number) for number in numbers]
    return group


def creations(*keys: str | None) -> Creations:
    return Creations(("mail", "send"), 3.0, list(range(1, len(keys) + 1)), keys if any(keys) else None)


def completions() -> Completions:
    """An attempt alone, a task whose chain goes on, one that ends its chain, and one of another handler that does."""
    group = Completions(WORKER, at=5.0)
    group.each += [
        (Facts(id=1), 0.05, 2.0, 1),
        (Facts(id=2), 0.1, 3.0, 2),
        (Facts(id=3), 99.0, 100.0, 3),
        (Facts(id=4, handler="draft"), 0.5, 0.5, 3),
    ]
    return group


def facts_of(events: list[Event]) -> list[tuple[EventType, int | None, float, float | None]]:
    return [(event.type, event.task.id if event.task else None, event.at, event.seconds) for event in events]


def test_groups_are_expanded_to_events_in_order() -> None:
    attempt, job, chain = COMPLETIONS

    assert facts_of(events_of([starts(1, 2), CREATED, completions()], frozenset(EventType))) == [
        (STARTED, 1, 1.0, None),
        (STARTED, 2, 2.0, None),
        (EventType.JOB_CREATED, 7, 0.0, None),
        (attempt, 1, 5.0, 0.05),
        (attempt, 2, 5.0, 0.1),
        (job, 2, 5.0, 3.0),
        (attempt, 3, 5.0, 99.0),
        (job, 3, 5.0, 100.0),
        (chain, 3, 5.0, 100.0),
        (attempt, 4, 5.0, 0.5),
        (job, 4, 5.0, 0.5),
        (chain, 4, 5.0, 0.5),
    ]


def test_group_creates_only_the_wanted_event_types() -> None:
    assert facts_of(events_of([starts(1), completions()], {EventType.CHAIN_COMPLETED})) == [
        (EventType.CHAIN_COMPLETED, 3, 5.0, 100.0),
        (EventType.CHAIN_COMPLETED, 4, 5.0, 0.5),
    ]


def test_tasks_stored_together_are_reported_with_their_chains() -> None:
    events = events_of([creations("store:4", None)], frozenset(EventType))

    kinds = (EventType.JOB_CREATED, EventType.CHAIN_CREATED)
    assert facts_of(events) == [(kind, number, 3.0, None) for kind in kinds for number in (1, 2)]
    assert events[0].task == SomeTask(id=1, role="mail", handler="send", attempt=0, key="store:4", chain_id=1)
    assert [event.task.key for event in events if event.task] == ["store:4", None] * 2


def test_group_counts_like_its_events() -> None:
    groups: list[Emission] = [creations(None, None), starts(1, 2, 3), completions()]
    at_once, one_by_one = Tally(BOUNDS), Tally(BOUNDS)
    at_once.add(groups)
    one_by_one.add(events_of(groups, frozenset(EventType)))

    def numbers(tally: Tally) -> dict[object, object]:
        return {
            at: (series.number, series.buckets, pytest.approx(series.seconds)) for at, series in tally.series().items()
        }

    assert numbers(at_once) == numbers(one_by_one)
    assert at_once.series()[COMPLETIONS[0], ("mail", "send")].buckets == [2, 0, 0, 1]


def test_unfinished_tasks_of_a_stopped_worker_do_not_count_as_running() -> None:
    tally = Tally()
    tally.add([Event(type=EventType.WORKER_STARTED, at=0.0, worker=WORKER, data={"slots": 3}), starts(1, 2)])
    assert (tally.count_running(), tally.idle()) == ({("mail", "send"): 2}, 1)

    tally.add([Event(type=EventType.WORKER_STOPPED, at=0.0, worker=WORKER)])
    tally.add([Event(type=EventType.WORKER_STARTED, at=0.0, worker=WORKER, data={"slots": 3}), starts(3)])

    assert (tally.count_running(), tally.idle()) == ({("mail", "send"): 1}, 2)
