"""Pauses of a role: no task starts until the pause expires or is lifted."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import START, Engine


def pause(engine: Engine, seconds: float | None = None, by: str | None = None) -> tuple[object, ...]:
    [row] = engine.rows("select * from rolecall.pause_role('work', %s, %s)", seconds, by)
    return row


def resume(engine: Engine) -> bool:
    was_paused: bool = engine.value("select rolecall.resume_role('work')")
    return was_paused


def ended(engine: Engine) -> list[tuple[object, ...]]:
    return engine.rows("select role, paused_for, paused_by from rolecall.end_pauses()")


def next_due(engine: Engine) -> float | None:
    seconds: float | None = engine.value("select rolecall.next_due('{}', '{work}')")
    return seconds


def test_paused_role_starts_nothing_until_resumed_but_finishes_running_tasks(engine: Engine) -> None:
    first, second = engine.enqueue(), engine.enqueue()
    running = engine.claim_one()
    assert pause(engine) == (START, None)

    assert engine.complete(running) is None
    assert engine.claim() == []
    assert next_due(engine) is None
    engine.clock.advance(days=400)
    assert engine.claim() == []
    assert resume(engine) is True

    assert [claim.id for claim in engine.claim(5)] == [second]
    assert running.id == first


def test_claims_resume_when_a_timed_pause_ends(engine: Engine) -> None:
    """The pause ends even if no process clears it."""
    task_id = engine.enqueue()
    assert pause(engine, 600) == (START, START + timedelta(seconds=600))
    engine.clock.advance(seconds=599)
    assert engine.claim() == []

    engine.clock.advance(seconds=1)

    assert next_due(engine) == 0
    assert engine.claim_one().id == task_id


def test_end_of_a_timed_pause_is_reported_once(engine: Engine) -> None:
    """The warning contains the pause."""
    pause(engine, 600, "ada")
    assert ended(engine) == []
    engine.clock.advance(seconds=600)

    assert ended(engine) == [("work", timedelta(seconds=600), "ada")]

    assert ended(engine) == []
    assert engine.rows("select paused_at, paused_until, paused_by from rolecall.roles") == [(None, None, None)]


def test_end_of_a_pause_wakes_idle_workers(engine: Engine, session: Session) -> None:
    listener = session()
    listener.rows("listen rolecall_wake")
    engine.rows("select rolecall.mark_idle(%s, true)", engine.worker())
    pause(engine, 1)
    engine.clock.advance(seconds=1)

    ended(engine)
    pause(engine)
    resume(engine)

    assert [notice.payload for notice in listener.connection.notifies(timeout=30, stop_after=2)] == ["work", "work"]


def test_second_pause_replaces_the_first_but_keeps_its_start(engine: Engine) -> None:
    pause(engine, 60)
    engine.clock.advance(seconds=30)

    assert pause(engine, 600) == (START, START + timedelta(seconds=630))


def test_pause_after_an_expired_one_has_a_new_start(engine: Engine) -> None:
    pause(engine, 60)
    engine.clock.advance(seconds=90)

    assert pause(engine) == (START + timedelta(seconds=90), None)


def test_resuming_an_active_role_has_no_effect(engine: Engine) -> None:
    assert resume(engine) is False


@pytest.mark.parametrize("verb", ["select rolecall.pause_role('nobody')", "select rolecall.resume_role('nobody')"])
def test_unknown_role_is_rejected(engine: Engine, verb: str) -> None:
    with pytest.raises(psycopg.Error, match="unknown role 'nobody'") as raised:
        engine.rows(verb)
    assert raised.value.sqlstate == "RC031"


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_pause_requires_a_positive_duration(engine: Engine, seconds: float) -> None:
    with pytest.raises(psycopg.Error) as raised:
        pause(engine, seconds)
    assert raised.value.sqlstate == "RC041"
