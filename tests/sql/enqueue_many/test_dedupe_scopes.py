"""The tasks that a new one is compared with: open ones, unclaimed ones, or any created in a window."""

from __future__ import annotations

import pytest

from tests.sql.engine import LEASE, STEP, Document, Engine

PENDING = {"scope": "pending"}
MINUTE = {"scope": "any", "window": 60}


def enqueue(engine: Engine, dedupe: Document | None = None, key: str = "d", **words: object) -> int:
    return engine.enqueue(dedupe_key=key, **({"dedupe": dedupe} if dedupe else {}), **words)


def open_ids(engine: Engine) -> list[int]:
    return [task.id for task in engine.tasks() if task.finished_at is None]


@pytest.mark.parametrize("dedupe", [None, {}, {"mode": "keep"}, {"scope": "open"}, PENDING, MINUTE], ids=str)
def test_unclaimed_task_is_kept_in_every_scope(engine: Engine, dedupe: Document | None) -> None:
    """The first task is kept, and its id is returned as existing."""
    first = enqueue(engine, dedupe, payload={"n": 1})
    again = {"role": "work", "dedupe_key": "d", "payload": {"n": 2}} | ({"dedupe": dedupe} if dedupe else {})

    assert engine.enqueue_many([again]) == ([first], [first])
    assert [task.payload for task in engine.tasks()] == [{"n": 1}]


def test_running_task_is_ignored_in_scope_pending(engine: Engine) -> None:
    """A running task has read its payload, so a new one needs another run."""
    running = enqueue(engine, PENDING)
    engine.claim_one()

    second = enqueue(engine, PENDING)

    assert second != running
    assert enqueue(engine, PENDING) == second


@pytest.mark.parametrize("comes_back", ["retried", "released", "rescued", "snoozed"])
def test_task_that_becomes_pending_again_coexists_with_its_newer_duplicate(engine: Engine, comes_back: str) -> None:
    first = enqueue(engine, PENDING)
    claim = engine.claim_one()
    twin = enqueue(engine, PENDING)

    if comes_back == "retried":
        engine.fail(claim)
    elif comes_back == "released":
        engine.release(claim)
    elif comes_back == "snoozed":
        engine.snooze(claim, 1)
    else:
        engine.clock.advance(seconds=LEASE + 1)
        engine.rescue()

    assert {task.id: task.state for task in engine.tasks()} == {first: "pending", twin: "pending"}
    assert enqueue(engine, PENDING) == twin
    engine.clock.advance(seconds=STEP)
    assert {claim.id for claim in engine.claim(3)} == {first, twin}


def test_operator_retry_succeeds_despite_a_newer_duplicate(engine: Engine) -> None:
    first = enqueue(engine, PENDING)
    engine.fail(engine.claim_one(), final=True)
    twin = enqueue(engine, PENDING)

    assert engine.retry(first) == {first: "pending"}
    assert enqueue(engine, PENDING) == twin


def test_plain_task_matches_a_task_of_scope_pending(engine: Engine) -> None:
    """Scopes differ in the tasks they match, not in the tasks that match them."""
    standing = enqueue(engine, PENDING)
    assert enqueue(engine) == standing

    engine.claim_one()

    assert enqueue(engine) == standing


def test_task_of_scope_pending_matches_a_plain_task_until_claimed(engine: Engine) -> None:
    plain = enqueue(engine)
    assert enqueue(engine, PENDING) == plain

    engine.claim_one()

    assert enqueue(engine, PENDING) != plain


def test_different_scopes_deduplicate_within_one_batch(engine: Engine) -> None:
    """The first task of the batch wins."""
    batch: list[Document] = [{"role": "work", "dedupe_key": "d", "payload": {"n": n}} for n in range(4)]
    batch[1]["dedupe"] = PENDING
    batch[2]["dedupe"] = MINUTE

    for several in (batch, batch[1:], batch[2:]):
        ids, deduplicated = engine.enqueue_many(several)
        assert deduplicated == ids[1:]
        assert set(ids) == {ids[0]}
        assert engine.task(ids[0]).payload == several[0]["payload"]
        engine.cancel(ids[0])
        engine.clock.advance(seconds=61)


@pytest.mark.parametrize("ending", ["completed", "failed", "cancelled"])
def test_finished_task_is_matched_within_the_window(engine: Engine, ending: str) -> None:
    """The window of scope any starts at the creation of the task. This is a throttle."""
    first = enqueue(engine, MINUTE)
    engine.clock.advance(seconds=30)
    engine.report(engine.claim_one(), ending, error="x", final=True)

    assert enqueue(engine, MINUTE) == first
    engine.clock.advance(seconds=31)
    assert enqueue(engine, MINUTE) != first


@pytest.mark.parametrize("dedupe", [{"scope": "any"}, {"scope": "any", "window": None}], ids=str)
def test_finished_task_of_any_age_is_matched_without_a_window(engine: Engine, dedupe: Document) -> None:
    first = enqueue(engine)
    engine.complete(engine.claim_one())
    engine.clock.advance(days=300)

    assert enqueue(engine, dedupe) == first


def test_open_task_is_matched_beyond_the_window(engine: Engine) -> None:
    first = enqueue(engine, MINUTE)
    engine.claim_one()
    engine.clock.advance(seconds=61)

    assert enqueue(engine, MINUTE) == first


def test_newest_of_several_finished_tasks_is_matched(engine: Engine) -> None:
    for _ in range(2):
        last = enqueue(engine)
        engine.complete(engine.claim_one())
        engine.clock.advance(seconds=1)

    assert enqueue(engine, MINUTE) == last


def test_finished_task_is_ignored_in_other_scopes(engine: Engine) -> None:
    first = enqueue(engine)
    engine.complete(engine.claim_one())

    assert enqueue(engine) != first


def test_running_task_can_enqueue_its_own_successor(engine: Engine) -> None:
    """Without the exception, the new task would be a duplicate of the running chain."""
    running = enqueue(engine)
    claim = engine.claim_one()
    assert enqueue(engine) == running

    successor = enqueue(engine, {"except_chain": claim.chain_id}, after=STEP)

    assert successor != running
    assert enqueue(engine, {"except_chain": claim.chain_id}) == successor
    assert engine.complete(claim) is None
    assert open_ids(engine) == [successor]
    assert enqueue(engine) == successor


def test_exception_applies_to_one_chain_only(engine: Engine) -> None:
    running = enqueue(engine)
    engine.claim_one()

    assert enqueue(engine, {"except_chain": running + 1}) == running


def test_pending_task_of_the_excepted_chain_is_matched(engine: Engine) -> None:
    waiting = enqueue(engine)

    assert enqueue(engine, {"except_chain": engine.task(waiting).chain_id}) == waiting


@pytest.mark.parametrize("dedupe", [None, PENDING, {"scope": "any", "window": STEP}, {"mode": "error"}], ids=str)
@pytest.mark.parametrize("place", ["follow_ups", "continuation"])
def test_task_can_enqueue_its_own_dedupe_key_on_completion(engine: Engine, place: str, dedupe: Document | None) -> None:
    """A task can reschedule itself forever in every scope.

    A window can be as long as the delay, so the completing task must not count.
    """
    draft = {"role": "work", "dedupe_key": "d", "after": STEP} | ({"dedupe": dedupe} if dedupe else {})
    seen = [enqueue(engine, dedupe)]
    for _ in range(3):
        assert engine.complete(engine.claim_one(), next={place: draft if place == "continuation" else [draft]}) is None
        seen += open_ids(engine)
        engine.clock.advance(seconds=STEP)

    assert len(set(seen)) == 4


def test_other_chain_is_throttled_by_a_self_rescheduling_one(engine: Engine) -> None:
    draft = {"role": "work", "dedupe_key": "d", "dedupe": MINUTE}
    enqueue(engine, MINUTE)
    engine.complete(engine.claim_one(), next={"follow_ups": [draft]})
    [successor] = open_ids(engine)
    engine.complete(engine.claim_one())

    assert enqueue(engine, MINUTE) == successor


def test_each_handler_has_its_own_dedupe_keys_in_every_scope(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "h", "role": "work"}])

    for dedupe in (PENDING, MINUTE):
        assert enqueue(engine, dedupe, key="e") != enqueue(engine, dedupe, key="e", handler="h")
        engine.cancel(*open_ids(engine))
        engine.clock.advance(seconds=61)
