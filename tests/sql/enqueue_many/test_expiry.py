"""The expiry of a task, set by the task or its handler."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import START, Document, Engine
from tests.sql.families import spread

HOUR = timedelta(hours=1)
IN_AN_HOUR = (START + HOUR).isoformat()
SHORT_LIVED: Document = {"name": "push", "role": "work", "expires": 30}


def expiry(engine: Engine, **words: object) -> datetime | None:
    return engine.task(engine.enqueue(**words)).expires_at


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ({}, None),
        ({"expires": None, "expires_at": None}, None),
        ({"expires": 30}, timedelta(seconds=30)),
        ({"expires": 30, "scheduled_for": "1999-01-01T00:00:00Z"}, timedelta(seconds=30)),
        ({"expires": 30, "after": 60}, timedelta(seconds=90)),
        ({"expires": 30, "scheduled_for": IN_AN_HOUR}, HOUR + timedelta(seconds=30)),
        ({"expires_at": IN_AN_HOUR}, HOUR),
        ({"expires_at": IN_AN_HOUR, "after": 60}, HOUR),
        ({"expires_at": "1999-01-01T00:00:00Z"}, datetime.fromisoformat("1999-01-01T00:00:00Z") - START),
    ],
    ids=str,
)
@pytest.mark.parametrize("way", [{}, {"needs": []}, {"dedupe_key": "d"}], ids=["plain", "general", "deduped"])
def test_expiry_is_relative_to_the_due_time_or_absolute(
    engine: Engine, words: Document, at: timedelta | None, way: Document
) -> None:
    assert expiry(engine, **words, **way) == (None if at is None else START + at)


def test_each_task_of_a_batch_has_its_own_expiry(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "expires": 5}, {"role": "work"}, {"role": "work", "expires": 7}])

    seconds = [task.expires_at and (task.expires_at - START).total_seconds() for task in engine.tasks()]
    assert seconds == [5, None, 7]


def by_enqueue(engine: Engine) -> None:
    engine.value("select rolecall.enqueue('work', '{}', 'push')")


def by_batch(engine: Engine) -> None:
    engine.enqueue_many([{"handler": "push"}])


def by_dedupe(engine: Engine) -> None:
    engine.enqueue_many([{"handler": "push", "dedupe_key": "d", "dedupe": {"mode": "error"}}])


def by_follow_up(engine: Engine) -> None:
    engine.enqueue("before")
    engine.complete(engine.claim_one("before"), next={"follow_ups": [{"handler": "push"}]})


def by_child(engine: Engine) -> None:
    engine.enqueue("before")
    spread(engine, engine.claim_one("before"), {"handler": "push"})


def by_schedule(engine: Engine) -> None:
    engine.put_schedule(handler="push")
    engine.trigger()


@pytest.mark.parametrize("way", [by_enqueue, by_batch, by_dedupe, by_follow_up, by_child, by_schedule])
def test_expiry_of_the_handler_applies_to_all_ways_of_enqueuing(engine: Engine, way: Callable[[Engine], None]) -> None:
    engine.declare({"name": "before"}, handlers=[SHORT_LIVED])

    way(engine)

    [task] = [task for task in engine.tasks() if task.handler == "push"]
    assert task.expires_at == START + timedelta(seconds=30)


@pytest.mark.parametrize(("words", "seconds"), [({"expires": 5}, 5), ({"expires_at": IN_AN_HOUR}, 3600)], ids=str)
def test_expiry_of_the_task_overrides_that_of_the_handler(engine: Engine, words: Document, seconds: int) -> None:
    engine.declare(handlers=[SHORT_LIVED])

    assert expiry(engine, handler="push", **words) == START + timedelta(seconds=seconds)


def test_handler_declared_without_expiry_lets_its_tasks_wait(engine: Engine) -> None:
    engine.declare(handlers=[SHORT_LIVED])
    engine.declare(handlers=[{"name": "push", "role": "work"}])

    assert expiry(engine, handler="push") is None


def test_procedure_can_declare_an_expiry(engine: Engine) -> None:
    engine.rows("create procedure public.push(payload jsonb) language sql as 'select'")
    engine.rows("select rolecall.declare_procedure('push', 'public.push', 'work', p_expires => '30 s')")

    assert expiry(engine, handler="push") == START + timedelta(seconds=30)


def test_replacing_a_task_renews_its_expiry(engine: Engine) -> None:
    """This is a debounce, also of a task that has expired but has not been cancelled yet."""
    draft: Document = {"dedupe_key": "d", "dedupe": {"mode": "replace"}, "expires": 30}
    first = engine.enqueue(**draft)
    engine.clock.advance(seconds=40)

    assert engine.enqueue(**draft, after=10) == first
    assert engine.task(first).expires_at == START + timedelta(seconds=80)
    assert engine.expire() == {}


def test_merging_a_task_without_expiry_removes_the_expiry(engine: Engine) -> None:
    first = engine.enqueue(dedupe_key="d", dedupe={"mode": "merge"}, expires=30)
    engine.enqueue(dedupe_key="d", dedupe={"mode": "merge"})

    assert engine.task(first).expires_at is None


@pytest.mark.parametrize("dedupe", [None, {"mode": "keep"}, {"scope": "pending"}, {"mode": "error"}], ids=str)
@pytest.mark.parametrize("words", [{}, {"key": "k"}, {"needs": [1]}], ids=str)
def test_expired_task_is_cancelled_and_does_not_block_its_dedupe_key(
    engine: Engine, dedupe: Document | None, words: Document
) -> None:
    engine.enqueue("work", after=1000)
    draft: Document = {"role": "work", "dedupe_key": "d", "expires": 30, **words}
    first = engine.enqueue(**draft)
    engine.clock.advance(seconds=30)

    second = engine.enqueue(**draft, **({"dedupe": dedupe} if dedupe else {}))

    assert second != first
    assert (engine.state(first), engine.task(first).error) == (
        "cancelled",
        "it expired at 2026-01-01 00:00:30Z, before it began",
    )


def test_running_task_is_matched_after_its_expiry(engine: Engine) -> None:
    first = engine.enqueue(dedupe_key="d", expires=30)
    engine.claim_one()
    engine.clock.advance(seconds=60)

    assert engine.enqueue_many([{"role": "work", "dedupe_key": "d"}]) == ([first], [first])


@pytest.mark.parametrize(("expires", "shown"), [(0, "expires must be 0.001 to 4e9 s"), (1e300, "expires must")])
def test_invalid_expiry_of_a_handler_is_rejected(engine: Engine, expires: float, shown: str) -> None:
    query = "select rolecall.declare('[]', %s)"

    with pytest.raises(Exception, match=shown):
        engine.rows(query, Jsonb([{**SHORT_LIVED, "expires": expires}]))
