"""The effects of a new task on its existing duplicate: none, replacement, or rejection."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.engine import START, STEP, Document, Engine

REPLACE = {"mode": "replace"}
ERROR = {"mode": "error"}


def draft(mode: Document, **words: object) -> Document:
    return {"role": "work", "dedupe_key": "d", "dedupe": mode, **words}


def test_newer_task_replaces_an_unclaimed_one(engine: Engine) -> None:
    """Payload, priority and start time are those of the newer task."""
    first = engine.enqueue(dedupe_key="d", payload={"old": 1}, priority=7, after=60)

    assert engine.enqueue_many([draft(REPLACE, payload={"n": 2}, priority=3, after=30)]) == ([first], [first])

    task = engine.task(first)
    assert (task.payload, task.priority, task.scheduled_for) == ({"n": 2}, 3, START + timedelta(seconds=30))
    assert (task.created_at, task.attempt) == (START, 0)


def test_debounced_task_starts_after_a_quiet_period(engine: Engine) -> None:
    """Replacing with a delay: each call postpones the start, and the last payload is run."""
    for n in range(5):
        engine.enqueue_many([draft(REPLACE, payload={"n": n}, after=STEP)])
        engine.clock.advance(seconds=STEP - 1)
        assert engine.claim() == []

    engine.clock.advance(seconds=1)
    assert [claim.payload for claim in engine.claim(5)] == [{"n": 4}]


def test_running_task_is_not_replaced(engine: Engine) -> None:
    """It has read its payload."""
    running = engine.enqueue(**draft(REPLACE, payload={"n": 1}))
    engine.claim_one()

    [second], stood = engine.enqueue_many([draft(REPLACE, payload={"n": 2})])

    assert (second != running, stood) == (True, [])
    assert engine.task(running).payload == {"n": 1}


def test_retrying_task_is_not_replaced(engine: Engine) -> None:
    """An attempt with its payload may have done half of the work."""
    tried = engine.enqueue(**draft(REPLACE, payload={"n": 1}))
    engine.fail(engine.claim_one())

    assert engine.enqueue(**draft(REPLACE, payload={"n": 2})) != tried
    assert engine.task(tried).payload == {"n": 1}


def test_last_of_a_batch_replaces_the_earlier_ones(engine: Engine) -> None:
    ids, deduplicated = engine.enqueue_many([draft(REPLACE, payload={"n": n}) for n in range(3)])

    assert (set(ids), deduplicated) == ({ids[0]}, ids[1:])
    assert engine.task(ids[0]).payload == {"n": 2}


def test_replaced_task_is_claimed_at_its_new_position(engine: Engine) -> None:
    low = engine.enqueue(**draft(REPLACE))
    other = engine.enqueue(priority=5)
    engine.enqueue(**draft(REPLACE, priority=9))

    assert [claim.id for claim in engine.claim(2)] == [low, other]


def test_session_past_a_task_finds_it_after_replacement(engine: Engine) -> None:
    """Its id is lower than that of the session's last claim, but it is due again."""
    later = engine.enqueue(**draft(REPLACE, after=60))
    engine.enqueue()
    engine.claim_one()
    engine.enqueue(**draft(REPLACE))

    assert engine.claim_one().id == later


def test_postponed_parked_task_is_no_longer_parked(engine: Engine) -> None:
    engine.enqueue(key="k")
    engine.claim_one()
    engine.enqueue(key="k")
    parked = engine.enqueue(**draft(REPLACE, key="k"))
    assert engine.claim() == []
    assert engine.task(parked).status == "parked"

    engine.enqueue(**draft(REPLACE, key="k", after=60))

    assert engine.task(parked).status == "scheduled"


def test_postponing_the_next_task_of_a_key_unparks_another(engine: Engine) -> None:
    """A free key never has only parked tasks."""
    engine.enqueue(key="k")
    holder = engine.claim_one()
    first = engine.enqueue(**draft(REPLACE, key="k"))
    second = engine.enqueue(key="k")
    assert engine.claim(3) == []
    engine.complete(holder)
    assert engine.task(first).status == "ready"

    engine.enqueue(**draft(REPLACE, key="k", after=3600))

    assert [claim.id for claim in engine.claim(3)] == [second]


def test_replaced_blocked_task_stays_blocked(engine: Engine) -> None:
    needed = engine.enqueue()
    blocked = engine.enqueue(**draft(REPLACE, payload={"n": 1}, needs=[needed]))

    assert engine.enqueue(**draft(REPLACE, payload={"n": 2})) == blocked

    task = engine.task(blocked)
    assert (task.state, task.payload) == ("blocked", {"n": 2})


def test_invalid_replacement_is_rejected(engine: Engine) -> None:
    engine.enqueue(**draft(REPLACE, payload={"n": 1}))

    with pytest.raises(psycopg.Error, match="the payload is not an object but array"):
        engine.enqueue(**draft(REPLACE, payload=[2]))
    assert [task.payload for task in engine.tasks()] == [{"n": 1}]


@pytest.mark.parametrize(
    "scope", [{}, {"scope": "open"}, {"scope": "pending"}, {"scope": "any", "window": 60}], ids=str
)
def test_error_mode_rejects_an_existing_dedupe_key_and_names_the_task(engine: Engine, scope: Document) -> None:
    """Nothing of the batch is stored."""
    standing = engine.enqueue(dedupe_key="d")

    with pytest.raises(psycopg.Error, match=f"task 1: task {standing} already has the dedupe_key 'd'") as refusal:
        engine.enqueue_many([{"role": "work"}, draft({**ERROR, **scope})])

    assert (refusal.value.sqlstate, refusal.value.diag.message_detail) == ("RC045", str(standing))
    assert [task.id for task in engine.tasks()] == [standing]


def test_error_mode_rejects_a_duplicate_within_the_batch(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="task 2: "):
        engine.enqueue_many([draft(ERROR), {"role": "work"}, draft(ERROR)])
    assert engine.tasks() == []


@pytest.mark.parametrize(
    ("scope", "refused"), [({}, True), ({"scope": "pending"}, False), ({"scope": "any", "window": 60}, True)], ids=str
)
def test_error_mode_applies_within_the_scope(engine: Engine, scope: Document, refused: bool) -> None:
    engine.enqueue(dedupe_key="d")
    engine.claim_one()
    try:
        engine.enqueue(**draft({**ERROR, **scope}))
    except psycopg.Error as error:
        assert (refused, error.sqlstate) == (True, "RC045")
    else:
        assert not refused


def test_existing_task_does_not_become_a_child(engine: Engine) -> None:
    """A parent waits for the children that it stored, not for existing tasks that it changed."""
    standing = engine.enqueue(dedupe_key="d", after=3600)
    parent = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [draft(REPLACE, payload={"n": 2}), {"role": "work"}]})

    assert (engine.task(parent).open_children, engine.task(standing).parent_id) == (1, None)
    assert engine.task(standing).payload == {"n": 2}
