"""The events that the engine emits about tasks and chains, by transition."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.sql.engine import LEASE, Engine

Events = list[tuple[str, int | None]]


class Collecting:
    """A transaction that collects events.

    `events` contains the types with the task ids, or with the chain ids if there is no task. Similar new tasks share
    one document, and each starts a chain.
    """

    def __init__(self) -> None:
        self.documents: list[dict[str, Any]] = []

    @property
    def events(self) -> Events:
        return [event for document in self.documents for event in _events(document)]


def _events(document: dict[str, Any]) -> Events:
    if "ids" in document:
        return [(kind, task_id) for kind in ("job_created", "chain_created") for task_id in document["ids"]]
    return [(document["type"], document.get("id", document["chain_id"]))]


@contextmanager
def collecting(engine: Engine, ended: list[int] | None = None) -> Iterator[Collecting]:
    collected = Collecting()
    with engine.connection.transaction():
        engine.rows("select rolecall.collect_events()")
        yield collected
        collected.documents = engine.value("select rolecall.collected_events(%s)", ended or [])


def test_stored_task_creates_a_chain(engine: Engine) -> None:
    with collecting(engine) as collected:
        task_id = engine.enqueue(key="store:4")

    assert collected.events == [("job_created", task_id), ("chain_created", task_id)]


def test_identical_consecutive_events_are_combined(engine: Engine) -> None:
    with collecting(engine) as collected:
        first, second = engine.enqueue(key="store:4"), engine.enqueue()
        ids, _ = engine.enqueue_many([{"role": "work"}] * 3)

    facts = {"type": "job_created", "role": "work", "handler": "work"}
    assert collected.documents == [
        {**facts, "ids": [first], "keys": ["store:4"]},
        {**facts, "ids": [second]},
        {**facts, "ids": ids},
    ]


def test_existing_task_has_no_created_event(engine: Engine) -> None:
    engine.enqueue(dedupe_key="a")

    with collecting(engine) as collected:
        engine.enqueue(dedupe_key="a")

    assert collected.events == []


def test_task_with_a_need_has_blocked_and_unblocked_events(engine: Engine) -> None:
    needed = engine.enqueue()
    with collecting(engine) as collected:
        waiting = engine.enqueue(needs=[{"task": needed}])
    assert ("job_blocked", waiting) in collected.events

    claim = engine.claim_one()
    with collecting(engine) as collected:
        engine.complete(claim)

    assert collected.events == [("job_unblocked", waiting)]


def test_running_task_that_gets_a_need_has_a_blocked_event(engine: Engine) -> None:
    first, claim = engine.enqueue(), engine.claim_one()
    other = engine.enqueue(after=60)

    with collecting(engine) as collected:
        engine.block(claim, {"task": other})

    assert collected.events == [("job_blocked", first)]


def test_parent_has_waiting_and_completed_events(engine: Engine) -> None:
    parent, claim = engine.enqueue(), engine.claim_one()
    with collecting(engine) as collected:
        engine.complete(claim, next={"children": [{"role": "work"}]})
    [child] = engine.children(parent)
    assert collected.events == [("job_created", child.id), ("chain_created", child.id), ("job_waiting", parent)]

    child_claim = engine.claim_one()
    with collecting(engine) as collected:
        engine.complete(child_claim)

    assert collected.events == [("job_completed", parent)]


def test_retried_failure_has_no_event(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    with collecting(engine) as collected:
        engine.fail(claim)

    assert collected.events == []


def test_final_failure_has_durations_of_task_and_chain(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    engine.clock.advance(seconds=5)
    claim = engine.claim_one()
    engine.clock.advance(seconds=2)

    with collecting(engine) as collected:
        engine.fail(claim, "boom")

    assert collected.events == [("job_failed", task_id)]
    assert {"error": "boom", "seconds": 7, "chain_seconds": 7}.items() <= collected.documents[0].items()


def test_completion_of_a_longer_chain_is_reported_on_request(engine: Engine) -> None:
    engine.enqueue()
    first = engine.claim_one()
    engine.clock.advance(seconds=5)
    with collecting(engine) as collected:
        engine.complete(first, next={"continuation": {"role": "work"}})
    last = engine.claim_one()
    assert collected.events == [("job_created", last.id)]

    engine.clock.advance(seconds=2)
    with collecting(engine, [last.id]) as collected:
        engine.complete(last)

    assert collected.events == [("job_completed", last.id)]
    assert {"seconds": 2, "chain_seconds": 7}.items() <= collected.documents[0].items()


def test_cancelled_task_has_an_event(engine: Engine) -> None:
    task_id = engine.enqueue()

    with collecting(engine) as collected:
        engine.cancel(task_id)

    assert collected.events == [("job_cancelled", task_id)]


def test_tasks_finished_from_outside_have_events(engine: Engine) -> None:
    completed, failed = engine.enqueue(), engine.enqueue()

    with collecting(engine) as collected:
        engine.complete_task(completed)
        engine.fail_task(failed, "no")

    assert collected.events == [("job_completed", completed), ("job_failed", failed)]


def test_retried_task_has_an_event(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.cancel(task_id)

    with collecting(engine) as collected:
        engine.retry(task_id)

    assert collected.events == [("job_retried", task_id)]


def test_triggered_task_has_an_event(engine: Engine) -> None:
    task_id = engine.enqueue(after=60)

    with collecting(engine) as collected:
        engine.rows("select rolecall.trigger(%s)", [task_id])

    assert collected.events == [("job_triggered", task_id)]


def test_rescued_task_has_an_event_with_the_lost_attempt(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)

    with collecting(engine) as collected:
        engine.rescue()

    assert collected.events == [("job_reaped", task_id)]
    assert collected.documents[0]["attempt"] == 1


def test_expired_task_has_a_cancelled_event(engine: Engine) -> None:
    task_id = engine.enqueue(expires=30)
    engine.clock.advance(seconds=30)

    with collecting(engine) as collected:
        engine.expire()

    assert collected.events == [("job_cancelled", task_id)]
    assert collected.documents[0]["error"] == "it expired at 2026-01-01 00:00:30Z, before it began"


def test_deleted_chain_has_an_event(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one())

    with collecting(engine) as collected:
        engine.delete_chains(task_id)

    assert collected.events == [("chain_deleted", task_id)]


def test_events_of_a_rolled_back_savepoint_are_discarded(engine: Engine) -> None:
    with collecting(engine) as collected:
        kept = engine.enqueue()
        with engine.connection.transaction(force_rollback=True):
            engine.enqueue()

    assert collected.events == [("job_created", kept), ("chain_created", kept)]


def test_events_are_collected_only_on_request(engine: Engine) -> None:
    with engine.connection.transaction():
        engine.enqueue()
        assert engine.value("select rolecall.collected_events()") is None

    with collecting(engine) as collected:
        pass
    assert collected.events == []


def test_collection_ends_with_the_transaction(engine: Engine) -> None:
    with engine.connection.transaction():
        engine.rows("select rolecall.collect_events()")
        engine.enqueue()

    assert engine.value("select rolecall.collected_events()") is None
